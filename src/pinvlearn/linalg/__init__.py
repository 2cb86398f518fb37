"""Linear algebra: arrays in, frozen results out."""

from pinvlearn.linalg.kernel import LowRankPSD, lowrank_psd

__all__ = ["LowRankPSD", "lowrank_psd"]
