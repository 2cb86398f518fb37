"""Speed against peers, error next to time."""
