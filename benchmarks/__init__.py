"""Benchmarks of pinvlearn: published tables run again, and speed against peers.

Run from a checkout: ``python -m benchmarks`` lists them, ``python -m benchmarks NAME`` runs one.
"""
