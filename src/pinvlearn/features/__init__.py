"""Feature maps: frozen, already drawn functions from rows X to features H."""
