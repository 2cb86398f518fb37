"""Sums over rows from which a read-out can be solved, and that can be merged.

A summary of the rows (H, Y) holds everything a ridge solution needs and no row: its size does not
depend on how many rows it has seen, and the summary of two sets of rows is the sum of theirs.
"""

from pinvlearn.summaries.gram import Gram
from pinvlearn.summaries.moments import Moments
from pinvlearn.summaries.products import Products
from pinvlearn.summaries.schema import BlockId, Schema, fingerprint
from pinvlearn.summaries.tree import Summary, Tree, at_home, fold, load_summary
from pinvlearn.summaries.triangle import Triangle

__all__ = [
    "BlockId",
    "Gram",
    "Moments",
    "Products",
    "Schema",
    "Summary",
    "Tree",
    "Triangle",
    "at_home",
    "fingerprint",
    "fold",
    "load_summary",
]
