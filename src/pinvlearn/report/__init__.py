"""One HTML page that tells what a model is worth: no script, no network, nothing unescaped."""
