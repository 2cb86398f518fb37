"""Matrices of which some entries are known: descent, alternating solves, samples, imputation."""
