"""Learning by pseudo-inverse.

Every learner here is a feature map followed by a linear read-out through a filtered
pseudo-inverse. Public names are loaded on first use, so ``import pinvlearn`` costs next to
nothing; ``pinvlearn.readout.solvers`` holds the solver objects, ``pinvlearn.summaries`` what can
be added, forgotten and merged.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pinvlearn import summaries as summaries
    from pinvlearn.displays.matrices import DegreeDisplay as DegreeDisplay
    from pinvlearn.displays.matrices import ReorderingDisplay as ReorderingDisplay
    from pinvlearn.displays.paths import AlphaPathDisplay as AlphaPathDisplay
    from pinvlearn.displays.paths import ConvergenceDisplay as ConvergenceDisplay
    from pinvlearn.displays.paths import SizePathDisplay as SizePathDisplay
    from pinvlearn.engines.sources import CSVBlocks as CSVBlocks
    from pinvlearn.engines.sources import NpyBlocks as NpyBlocks
    from pinvlearn.engines.sources import NpzBlocks as NpzBlocks
    from pinvlearn.engines.sources import ParquetBlocks as ParquetBlocks
    from pinvlearn.functional.kernels import lowrank_psd as lowrank_psd
    from pinvlearn.functional.matrices import Solution as Solution
    from pinvlearn.functional.matrices import frobenius_error as frobenius_error
    from pinvlearn.functional.matrices import hub_spoke as hub_spoke
    from pinvlearn.functional.matrices import lstsq as lstsq
    from pinvlearn.functional.matrices import pinv as pinv
    from pinvlearn.functional.matrices import range_basis as range_basis
    from pinvlearn.functional.matrices import spectral_error as spectral_error
    from pinvlearn.functional.matrices import svd as svd
    from pinvlearn.functional.partial import as_triplets as as_triplets
    from pinvlearn.functional.partial import partial_svd as partial_svd
    from pinvlearn.learners.autoencoder import ELMAutoEncoder as ELMAutoEncoder
    from pinvlearn.learners.decomposition import FastPCA as FastPCA
    from pinvlearn.learners.decomposition import FastTruncatedSVD as FastTruncatedSVD
    from pinvlearn.learners.deep import DeepELMClassifier as DeepELMClassifier
    from pinvlearn.learners.deep import DeepELMRegressor as DeepELMRegressor
    from pinvlearn.learners.elm import ELMClassifier as ELMClassifier
    from pinvlearn.learners.elm import ELMRegressor as ELMRegressor
    from pinvlearn.learners.extreme_svm import ExtremeSVMClassifier as ExtremeSVMClassifier
    from pinvlearn.learners.fastpi import FastPIClassifier as FastPIClassifier
    from pinvlearn.learners.features import RandomFeatures as RandomFeatures
    from pinvlearn.learners.features import RBFFeatures as RBFFeatures
    from pinvlearn.learners.imputer import SVDImputer as SVDImputer
    from pinvlearn.learners.kernel_elm import KernelELMClassifier as KernelELMClassifier
    from pinvlearn.learners.kernel_elm import KernelELMRegressor as KernelELMRegressor
    from pinvlearn.learners.partial import PartialSVD as PartialSVD
    from pinvlearn.learners.pinv import PinvClassifier as PinvClassifier
    from pinvlearn.learners.pinv import PinvRegressor as PinvRegressor
    from pinvlearn.learners.rbf import RBFNetworkClassifier as RBFNetworkClassifier
    from pinvlearn.learners.rbf import RBFNetworkRegressor as RBFNetworkRegressor
    from pinvlearn.learners.receptive_fields import ReceptiveFields as ReceptiveFields
    from pinvlearn.linalg.kernel import LowRankPSD as LowRankPSD
    from pinvlearn.linalg.rangefinder import RangeBasis as RangeBasis
    from pinvlearn.linalg.reorder import Reordering as Reordering
    from pinvlearn.linalg.report import Report as Report
    from pinvlearn.linalg.stop import Energy as Energy
    from pinvlearn.linalg.stop import FlatGradient as FlatGradient
    from pinvlearn.linalg.stop import Rank as Rank
    from pinvlearn.linalg.stop import Tolerance as Tolerance
    from pinvlearn.linalg.svd import SVD as SVD
    from pinvlearn.linalg.svd import PseudoInverse as PseudoInverse
    from pinvlearn.metrics import ndcg_at_k as ndcg_at_k
    from pinvlearn.metrics import precision_at_k as precision_at_k
    from pinvlearn.persistence import load as load
    from pinvlearn.persistence import save as save

    __version__: str

# The one table of public names: where each lives. Type checkers read the block above instead.
_HOME = {
    "CSVBlocks": "engines.sources",
    "AlphaPathDisplay": "displays.paths",
    "ConvergenceDisplay": "displays.paths",
    "DegreeDisplay": "displays.matrices",
    "DeepELMClassifier": "learners.deep",
    "DeepELMRegressor": "learners.deep",
    "ELMAutoEncoder": "learners.autoencoder",
    "ELMClassifier": "learners.elm",
    "ELMRegressor": "learners.elm",
    "Energy": "linalg.stop",
    "ExtremeSVMClassifier": "learners.extreme_svm",
    "FastPCA": "learners.decomposition",
    "FastPIClassifier": "learners.fastpi",
    "FastTruncatedSVD": "learners.decomposition",
    "FlatGradient": "linalg.stop",
    "KernelELMClassifier": "learners.kernel_elm",
    "KernelELMRegressor": "learners.kernel_elm",
    "LowRankPSD": "linalg.kernel",
    "NpyBlocks": "engines.sources",
    "NpzBlocks": "engines.sources",
    "ParquetBlocks": "engines.sources",
    "PartialSVD": "learners.partial",
    "PinvClassifier": "learners.pinv",
    "PinvRegressor": "learners.pinv",
    "PseudoInverse": "linalg.svd",
    "RBFFeatures": "learners.features",
    "RBFNetworkClassifier": "learners.rbf",
    "RBFNetworkRegressor": "learners.rbf",
    "RandomFeatures": "learners.features",
    "RangeBasis": "linalg.rangefinder",
    "Rank": "linalg.stop",
    "ReceptiveFields": "learners.receptive_fields",
    "Reordering": "linalg.reorder",
    "ReorderingDisplay": "displays.matrices",
    "Report": "linalg.report",
    "SVD": "linalg.svd",
    "SVDImputer": "learners.imputer",
    "SizePathDisplay": "displays.paths",
    "Solution": "functional.matrices",
    "Tolerance": "linalg.stop",
    "as_triplets": "functional.partial",
    "frobenius_error": "functional.matrices",
    "hub_spoke": "functional.matrices",
    "load": "persistence",
    "lowrank_psd": "functional.kernels",
    "lstsq": "functional.matrices",
    "ndcg_at_k": "metrics",
    "partial_svd": "functional.partial",
    "pinv": "functional.matrices",
    "precision_at_k": "metrics",
    "range_basis": "functional.matrices",
    "save": "persistence",
    "spectral_error": "functional.matrices",
    "svd": "functional.matrices",
}
_SUBMODULES = ("summaries",)

__all__ = sorted([*_HOME, *_SUBMODULES])


def __getattr__(name: str) -> Any:
    value: Any
    if name in _HOME:
        value = getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
    elif name in _SUBMODULES:
        value = import_module(f"{__name__}.{name}")
    elif name == "__version__":
        from importlib.metadata import version

        value = version(__name__)
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, "__version__"})
