"""The public names, listed once: type checkers read this file, and so does `__init__.py`.

One line for each, imported ``as`` itself, which marks it as public.
"""

from pinvlearn import summaries as summaries
from pinvlearn.deploy.onnx import to_onnx as to_onnx
from pinvlearn.displays.matrices import DegreeDisplay as DegreeDisplay
from pinvlearn.displays.matrices import ReorderingDisplay as ReorderingDisplay
from pinvlearn.displays.paths import AlphaPathDisplay as AlphaPathDisplay
from pinvlearn.displays.paths import ConvergenceDisplay as ConvergenceDisplay
from pinvlearn.displays.paths import RoundsDisplay as RoundsDisplay
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
from pinvlearn.learners.feature_machine import FeatureMachineClassifier as FeatureMachineClassifier
from pinvlearn.learners.feature_machine import FeatureMachineRegressor as FeatureMachineRegressor
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
from pinvlearn.learners.tabular_inputs import TabularInputs as TabularInputs
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
from pinvlearn.report.write import write_report as write_report

__version__: str
