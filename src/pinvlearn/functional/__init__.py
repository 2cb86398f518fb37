"""The functions: check, call, return frozen results."""
