"""Published tables, measured again and set beside the printed values."""
