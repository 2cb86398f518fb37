"""Plots as Display objects, in scikit-learn's manner; matplotlib is loaded on the first plot."""
