"""Thin estimators: a feature map in front of the read-out, one file for each family."""
