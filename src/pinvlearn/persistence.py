"""Save a model to a file and load it again, without running code from the file.

The file is a skops archive (a zip of JSON and ``.npy`` arrays, no pickle) with one more member,
``pinvlearn.json``, that carries the version of the format. Only the types listed here, and those
that skops itself trusts from NumPy, SciPy and scikit-learn, are ever constructed.
"""

import json
import os
import zipfile
from pathlib import Path
from types import ModuleType
from typing import Any

from sklearn.pipeline import Pipeline

from pinvlearn._core.files import written_whole

FORMAT = 1
_HEADER = "pinvlearn.json"

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
    }
)
PARTS = frozenset(
    {
        "pinvlearn.features.kernels.GivenColumns",
        "pinvlearn.features.kernels.Kernel",
        "pinvlearn.features.kernels.KernelColumns",
        "pinvlearn.features.kernels.Whitened",
        "pinvlearn.features.random_layer.Beside",
        "pinvlearn.features.random_layer.Inputs",
        "pinvlearn.features.random_layer.Offset",
        "pinvlearn.features.random_layer.RandomLayer",
        "pinvlearn.features.random_layer.Stack",
        "pinvlearn.features.radial.RadialBasis",
        "pinvlearn.features.receptive_fields.Fields",
        "pinvlearn.learners._ledger.Ledger",
        "pinvlearn.learners.pinv.GivenMap",
        "pinvlearn.completion.completed.Completed",
        "pinvlearn.linalg.principal.Scatter",
        "pinvlearn.linalg.report.Report",
        "pinvlearn.linalg.stop.Energy",
        "pinvlearn.linalg.stop.FlatGradient",
        "pinvlearn.linalg.stop.Rank",
        "pinvlearn.linalg.stop.Tolerance",
        "pinvlearn.readout.solvers.Auto",
        "pinvlearn.readout.solvers.Cholesky",
        "pinvlearn.readout.solvers.GramSVD",
        "pinvlearn.readout.solvers.ExactSVD",
        "pinvlearn.readout.solvers.AdaptiveSVD",
        "pinvlearn.readout.solvers.QR",
        "pinvlearn.readout.solvers.RandomizedSVD",
        "pinvlearn.summaries.block.Block",
        "pinvlearn.summaries.gram.Gram",
        "pinvlearn.summaries.products.Products",
        "pinvlearn.summaries.schema.Schema",
        "pinvlearn.summaries.triangle.Triangle",
    }
)
# Harmless containers that scikit-learn's transformers and sparse centres bring along.
CONTAINERS = frozenset({"numpy.dtype", "scipy.sparse._csr.csr_array"})
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
    skops_io = _skops_io()
    if not _is_model(model):
        raise TypeError(
            f"save() was given a {_qualified_name(model)}; it takes a pinvlearn estimator or a "
            "scikit-learn Pipeline that ends in one. From a search, save its best_estimator_."
        )
    with written_whole(path) as draft:
        skops_io.dump(model, draft, compression=zipfile.ZIP_DEFLATED)
        foreign = _untrusted(skops_io, draft)
        if foreign:
            raise TypeError(
                f"the model holds {_listed(foreign)}, which load() would refuse. Keep such parts "
                "out of the saved Pipeline, or save it with skops.io and a trusted list of yours."
            )
        with zipfile.ZipFile(draft, "a") as archive:
            archive.writestr(_HEADER, json.dumps({"format": FORMAT}))


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
        If the file is not one of `save`, is of another format version, or holds types that are
        not trusted; nothing from such a file is constructed.
    ImportError
        If skops is not installed.
    """
    skops_io = _skops_io()
    path = Path(path)
    _check_header(path)
    try:
        foreign = _untrusted(skops_io, path)
        model = None if foreign else skops_io.load(path, trusted=TRUSTED)
    except Exception as error:  # skops raises whatever a damaged schema happens to trip over
        raise ValueError(f"{path} is damaged: {error}. Save the model again.") from error
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
    return model


def _skops_io() -> ModuleType:
    try:
        import skops.io
    except ImportError as error:
        raise ImportError(
            "saving and loading models needs skops: pip install pinvlearn[cli]", name="skops"
        ) from error
    module: ModuleType = skops.io
    return module


def _check_header(path: Path) -> None:
    """Refuse a file that is not ours before anything else in it is read."""
    try:
        with zipfile.ZipFile(path) as archive:
            found = json.loads(archive.read(_HEADER))["format"]
    except (zipfile.BadZipFile, KeyError, TypeError, ValueError) as error:
        raise ValueError(
            f"{path} is not a model file of pinvlearn. Use a file that pinvlearn.save or "
            "`pinvlearn fit --out` has written."
        ) from error
    if found != FORMAT:
        raise ValueError(
            f"{path} has format version {found!r}; this pinvlearn reads version {FORMAT}. Load it "
            "with the pinvlearn that wrote it, or fit the model again."
        )


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
