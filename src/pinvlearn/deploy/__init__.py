"""Models as graphs that other runtimes score, without pinvlearn."""
