"""From features to weights: a problem is factored once, alpha is chosen, the solution refined."""
