"""Save a model to a file and load it again, without running code from the file.

The file is a skops archive (a zip of JSON and ``.npy`` arrays, no pickle) with one more member,
``pinvlearn.json``, that carries the version of the format, and sealed by the SHA-256 of its bytes.
Only the types listed here, and those that skops itself trusts from NumPy, SciPy and scikit-learn,
are ever constructed, and only after a look at what the file declares.
"""

import copy
import errno
import io
import json
import os
import zipfile
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from pinvlearn._core.archives import SCHEMA, check_archive
from pinvlearn._core.files import check_seal, refused, sealed, written_whole
from pinvlearn._core.sparse import check_sparse

CALLBACKS = "_skl_callbacks"
"""Where scikit-learn keeps callbacks of an estimator."""

FORMAT = 2
"""Of the file; 1 was that of pinvlearn 0.1, whose parts have other names."""

_HEADER = "pinvlearn.json"
_LONGEST_HEADER = 1000

MODELS = frozenset(
    {
        "pinvlearn.learners.autoencoder.ELMAutoEncoder",
        "pinvlearn.learners.deep.DeepELMClassifier",
        "pinvlearn.learners.deep.DeepELMRegressor",
        "pinvlearn.learners.decomposition.FastPCA",
        "pinvlearn.learners.decomposition.FastTruncatedSVD",
        "pinvlearn.learners.elm.ELMClassifier",
        "pinvlearn.learners.elm.ELMRegressor",
        "pinvlearn.learners.fastpi.FastPIClassifier",
        "pinvlearn.learners.feature_machine.FeatureMachineClassifier",
        "pinvlearn.learners.feature_machine.FeatureMachineRegressor",
        "pinvlearn.learners.features.RBFFeatures",
        "pinvlearn.learners.features.RandomFeatures",
        "pinvlearn.learners.kernel_elm.KernelELMClassifier",
        "pinvlearn.learners.kernel_elm.KernelELMRegressor",
        "pinvlearn.learners.extreme_svm.ExtremeSVMClassifier",
        "pinvlearn.learners.imputer.SVDImputer",
        "pinvlearn.learners.partial.PartialSVD",
        "pinvlearn.learners.pinv.PinvClassifier",
        "pinvlearn.learners.pinv.PinvRegressor",
        "pinvlearn.learners.rbf.RBFNetworkClassifier",
        "pinvlearn.learners.rbf.RBFNetworkRegressor",
        "pinvlearn.learners.receptive_fields.ReceptiveFields",
        "pinvlearn.learners.tabular_inputs.TabularInputs",
    }
)
PARTS = frozenset(
    {
        "pinvlearn.features.columns.LevelSummary",
        "pinvlearn.features.columns.NumberSummary",
        "pinvlearn.features.columns.Preparation",
        "pinvlearn.features.columns.PreparedLevels",
        "pinvlearn.features.columns.PreparedNumbers",
        "pinvlearn.features.columns.TableSummary",
        "pinvlearn.features.kernels.GivenColumns",
        "pinvlearn.features.kernels.Kernel",
        "pinvlearn.features.kernels.KernelColumns",
        "pinvlearn.features.kernels.KernelWithLine",
        "pinvlearn.features.kernels.Whitened",
        "pinvlearn.features.metric.MetricColumns",
        "pinvlearn.features.metric.Part",
        "pinvlearn.features.random_layer.Beside",
        "pinvlearn.features.random_layer.BesideLine",
        "pinvlearn.features.random_layer.Inputs",
        "pinvlearn.features.random_layer.Line",
        "pinvlearn.features.random_layer.Offset",
        "pinvlearn.features.random_layer.RandomLayer",
        "pinvlearn.features.random_layer.Stack",
        "pinvlearn.features.radial.RadialBasis",
        "pinvlearn.features.receptive_fields.Fields",
        "pinvlearn.features.sketch.QuantileSketch",
        "pinvlearn.learners._ledger.Ledger",
        "pinvlearn.learners._ledger.Latest",
        "pinvlearn.learners._mixed.Column",
        "pinvlearn.learners.pinv.GivenMap",
        "pinvlearn.completion.completed.Completed",
        "pinvlearn.linalg.principal.Scatter",
        "pinvlearn.linalg.report.Report",
        "pinvlearn.linalg.stop.Energy",
        "pinvlearn.linalg.stop.FlatGradient",
        "pinvlearn.linalg.stop.Rank",
        "pinvlearn.linalg.stop.Tolerance",
        "pinvlearn.readout.budget.Budget",
        "pinvlearn.readout.decoding.Decoding",
        "pinvlearn.readout.rounds.Optimism",
        "pinvlearn.readout.rounds.Round",
        "pinvlearn.readout.auto.Auto",
        "pinvlearn.readout.decompositions.Cholesky",
        "pinvlearn.readout.decompositions.GramSVD",
        "pinvlearn.readout.decompositions.ExactSVD",
        "pinvlearn.readout.decompositions.AdaptiveSVD",
        "pinvlearn.readout.decompositions.QR",
        "pinvlearn.readout.decompositions.RandomizedSVD",
        "pinvlearn.summaries.block.Block",
        "pinvlearn.summaries.gram.Gram",
        "pinvlearn.summaries.products.Products",
        "pinvlearn.summaries.schema.Schema",
        "pinvlearn.summaries.triangle.Triangle",
    }
)
# Harmless containers that scikit-learn's transformers and sparse centres bring along.
CONTAINERS = frozenset(
    {"numpy.dtype", "scipy.sparse._csr.csr_array", "scipy.sparse._csr.csr_matrix"}
)
TRUSTED = sorted(MODELS | PARTS | CONTAINERS)


def save(model: Any, path: str | os.PathLike[str]) -> None:
    """Write a model to `path`, whole or not at all.

    Parameters
    ----------
    model : estimator
        A pinvlearn estimator, or a scikit-learn ``Pipeline`` whose last step is one.
    path : path-like
        Where to write; an existing file is replaced only once the new one is complete.

    Raises
    ------
    TypeError
        If `model` is something else, or holds a part that could not be loaded again, such as a
        transformer or solver of your own.
    ImportError
        If skops is not installed.

    See Also
    --------
    load : Read the model back.

    Examples
    --------
    >>> import numpy as np, pinvlearn, tempfile
    >>> X = np.linspace(0, 1, 40).reshape(-1, 1)
    >>> model = pinvlearn.PinvRegressor().fit(X, 2 * X[:, 0])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     pinvlearn.save(model, f"{folder}/line.skops")
    ...     again = pinvlearn.load(f"{folder}/line.skops")
    >>> bool(np.array_equal(model.predict(X), again.predict(X)))
    True
    """
    with written_whole(path) as draft:
        write_model(model, draft)


def write_model(model: Any, draft: Path) -> None:
    """Write a model to a file that nobody else writes: the draft of `save`, or of one who holds it.

    The arrays are not compressed: their digits hardly shrink, and it takes longer than the fit.
    """
    skops_io = _skops_io()
    if not _is_model(model):
        raise TypeError(
            f"save() was given a {_qualified_name(model)}; it takes a pinvlearn estimator or a "
            "scikit-learn Pipeline that ends in one. From a search, save its best_estimator_."
        )
    try:
        made = io.BytesIO(skops_io.dumps(_as_written(model)))
    except (TypeError, RecursionError) as error:  # of pickle's, that name no part
        raise TypeError(
            f"the model holds something that cannot be written without code ({error}), such as a "
            "data frame among its parameters. Give arrays or lists, and numbers that are real."
        ) from error
    with zipfile.ZipFile(made) as parts, sealed(draft) as archive:
        for name in parts.namelist():
            kind = zipfile.ZIP_DEFLATED if name == SCHEMA else zipfile.ZIP_STORED
            archive.writestr(name, parts.read(name), compress_type=kind)
        archive.writestr(_HEADER, json.dumps({"format": FORMAT}))
    foreign = _untrusted(skops_io, draft)
    if foreign:
        raise TypeError(
            f"the model holds {_listed(foreign)}, which load() would refuse. Keep such parts "
            "out of the saved Pipeline, or save it with skops.io and a trusted list of yours."
        )
    try:
        _check_sizes(draft)
    except ValueError as error:
        raise TypeError(
            f"the model holds something that load() would refuse: {error}. Keep such parts out of "
            "the saved Pipeline."
        ) from error


def _as_written(model: Any) -> Any:
    """The same without those who listen to its fits, which are no part of what was learned.

    Weights of the classes False and True are named 0 and 1, which are equal to them: skops reads
    keys from text, and every text is True.
    """
    weights = getattr(model, "class_weight", None)
    if not (hasattr(model, CALLBACKS) or isinstance(model, Pipeline) or isinstance(weights, dict)):
        return model
    bare = copy.copy(model)
    vars(bare).pop(CALLBACKS, None)
    if isinstance(weights, dict):
        named = ((int(k) if isinstance(k, bool | np.bool_) else k, w) for k, w in weights.items())
        bare.class_weight = dict(named)
    if isinstance(bare, Pipeline):
        bare.steps = [(name, _as_written(step)) for name, step in bare.steps]
    return bare


def load(path: str | os.PathLike[str]) -> Any:
    """Read a model that `save` has written.

    Parameters
    ----------
    path : path-like
        The file.

    Returns
    -------
    model : estimator
        The pinvlearn estimator or Pipeline, ready to predict.

    Raises
    ------
    ValueError
        For whatever is wrong with the file: it is damaged or not one of `save`, is of another
        format version, holds types that are not trusted, or parts that do not fit together or
        would take far more memory than the file has bytes.  Nothing from a file with foreign
        types is constructed.
    OSError
        If there is no such file, or it cannot be read.
    ImportError
        If skops is not installed.
    """
    skops_io = _skops_io()
    path = Path(path)
    _check_header(path)
    check_seal(path, "model")
    foreign: list[str] = []
    model: Any = None
    with refused(path, "model"):
        _check_sizes(path)
        try:
            model = skops_io.load(path, trusted=TRUSTED)
        except TypeError:  # skops' word for types that are not trusted, before it constructs any
            foreign = _untrusted(skops_io, path)
            if not foreign:
                raise
    if foreign:
        raise ValueError(
            f"{path} holds {_listed(foreign)}, not among the types that pinvlearn trusts; nothing "
            "was loaded. Use only files that pinvlearn.save has written."
        )
    if not _is_model(model):
        raise ValueError(
            f"{path} holds a {_qualified_name(model)}, not a pinvlearn estimator or a "
            "scikit-learn Pipeline that ends in one. Use a file that pinvlearn.save has written."
        )
    with refused(path, "model"):
        _check_parts(model)
    return model


def _skops_io() -> ModuleType:
    try:
        import skops.io
    except ImportError as error:
        raise ImportError(
            "saving and loading models needs skops: pip install 'pinvlearn[files]'", name="skops"
        ) from error
    module: ModuleType = skops.io
    return module


def _check_header(path: Path) -> None:
    """Refuse a file that is not ours before anything else in it is read."""
    try:
        with path.open("rb") as file, zipfile.ZipFile(file) as archive:
            if archive.getinfo(_HEADER).file_size > _LONGEST_HEADER:
                raise ValueError(_HEADER)
            found = json.loads(archive.read(_HEADER))["format"]
    except Exception as error:  # zip and JSON have many ways to stumble over a damaged file
        if isinstance(error, OSError) and error.errno != errno.EINVAL:  # a place before its start
            raise
        raise ValueError(
            f"{path} is not a model file of pinvlearn, or damaged. Use a file that pinvlearn.save "
            "or `pinvlearn fit --out` has written."
        ) from error
    if found == 1:
        raise ValueError(
            f"{path} was saved by pinvlearn 0.1, whose models this version cannot read. Fit the "
            "model again and save it, or use it with pinvlearn 0.1."
        )
    if found != FORMAT:
        raise ValueError(
            f"{path} has format version {found!r}; this pinvlearn reads version {FORMAT}. Load it "
            "with the pinvlearn that wrote it, or fit the model again."
        )


def _check_sizes(path: Path) -> None:
    with zipfile.ZipFile(path) as archive:
        check_archive(archive, path.stat().st_size)


def _check_parts(model: Any) -> None:
    """Raise ValueError where what was loaded could not have been made by a fit.

    Types are trusted, values are not: an index outside a sparse matrix would bring the process
    down when the model is used.
    """
    stack, seen = [model], set[int]()
    while stack:
        thing = stack.pop()
        if id(thing) in seen or isinstance(thing, str | bytes | type):
            continue
        seen.add(id(thing))
        check_sparse(thing, "a part")
        if _qualified_name(thing) in PARTS and hasattr(thing, "check"):
            thing.check()
        if isinstance(thing, np.ndarray):
            stack.extend(thing.ravel() if thing.dtype == object else ())
        elif isinstance(thing, dict):
            stack.extend(thing.values())
        elif isinstance(thing, list | tuple | set | frozenset):
            stack.extend(thing)
        else:
            stack.extend(getattr(thing, "__dict__", {}).values())


def _untrusted(skops_io: ModuleType, path: Path) -> list[str]:
    return sorted(set(skops_io.get_untrusted_types(file=path)) - set(TRUSTED))


def _is_model(model: object) -> bool:
    if isinstance(model, Pipeline):
        return bool(model.steps) and _is_model(model.steps[-1][1])
    return _qualified_name(model) in MODELS


def _qualified_name(thing: object) -> str:
    return f"{type(thing).__module__}.{type(thing).__qualname__}"


def _listed(names: list[str]) -> str:
    return f"the type{'s' if len(names) > 1 else ''} {', '.join(names)}"
