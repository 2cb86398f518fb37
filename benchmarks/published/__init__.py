"""Numbers as printed in the papers."""
