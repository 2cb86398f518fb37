"""Deep extreme learning machines: stacked autoencoders, a random layer, and one solve for each."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from pinvlearn._core.arrays import Array, Matrix
from pinvlearn._validation import check_alpha, check_sizes
from pinvlearn.features import FeatureMap
from pinvlearn.features.random_layer import RandomLayer, Stack
from pinvlearn.learners._base import (
    ReadoutClassifier,
    ReadoutEstimator,
    ReadoutRegressor,
)
from pinvlearn.learners._docs import documented
from pinvlearn.learners._maps import draw_random, with_links
from pinvlearn.learners.autoencoder import fit_encoder


class _DeepELM(ReadoutEstimator):
    _runs_on_devices = False
    _parameter_docs = {
        "layers": """
    layers : sequence of int, default=(200,)
        Units of each autoencoder, from the inputs upwards.""",
        "n_hidden": """
    n_hidden : int, default=1000
        Random units on top of the last autoencoder, which the read-out is fitted to.""",
        "activation": """
    activation : str or callable, default="sigmoid"
        Of all layers: "sigmoid", "tanh", "relu", "sine", "hardlimit" or "identity".""",
        "scale": """
    scale : float, default=1.0
        Factor on the weights of the random units on top.""",
        "penalty": """
    penalty : {"l2", "l1"}, default="l2"
        Of the autoencoders; see `ELMAutoEncoder`.""",
        "layer_alpha": """
    layer_alpha : "auto", float or array, default="auto"
        `alpha` of the autoencoders; `alpha` is the read-out's.""",
    }

    @property
    def _map_memory(self) -> str | None:
        return "its autoencoders were fitted to training rows"

    def _draw_map(
        self, X: Matrix, y: Any, rng: np.random.Generator
    ) -> tuple[FeatureMap, list[str]]:
        widths = check_sizes("layers", self.layers)
        check_alpha(self.layer_alpha, "layer_alpha")
        *streams, top_stream = rng.spawn(len(widths) + 1)
        below: Any = X
        layers: list[Any] = []
        notes = []
        for number, (width, stream) in enumerate(zip(widths, streams, strict=True), 1):
            found = fit_encoder(
                below,
                n_hidden=width,
                penalty=self.penalty,
                alpha=self.layer_alpha,
                activation=self.activation,
                scale=1.0,
                n_jobs=self.n_jobs,
                rng=stream,
            )
            below = found.layer(below)
            layers.append(found.layer)
            rebuilt = 100.0 * (1.0 - found.error)
            notes.append(f"autoencoder {number} rebuilds {rebuilt:.1f} % of its input's variance")
        top = draw_random(
            widths[-1],
            n_hidden=self.n_hidden,
            activation=self.activation,
            weights="orthogonal",
            scale=self.scale,
            rng=top_stream,
        )
        return with_links(Stack((*layers, _fitted_to(below, top))), X, self.direct_links), notes


def _fitted_to(X: Array, layer: RandomLayer) -> RandomLayer:
    """The layer, shifted and scaled to do to X what it would do to standardised inputs.

    What an autoencoder gives lies in a narrow range, in which an activation is close to linear.
    """
    mean, spread = X.mean(axis=0), float(np.sqrt(X.var(axis=0).mean()))
    factor = 1.0 / spread if spread > 0.0 else 1.0
    return replace(layer, W=layer.W * factor, b=layer.b - factor * (mean @ layer.W))


@documented
class DeepELMClassifier(ReadoutClassifier, _DeepELM):
    """Deep extreme learning machine for classification: each layer one solve, no epochs.

    Autoencoders are stacked, each fitted to what the one below gives and then fixed; on top of them
    comes a layer of random orthogonal units h, and the read-out that every learner here has:

        minimise  Σ_i w_i ‖h(x_i) B + b - y_i‖² + alpha·‖B‖²

    over B and b, with alpha chosen by exact leave-one-out.  The autoencoders see no targets and no
    weights.  After `partial_fit` and `fit_blocks` they are those of the first rows, while the
    read-out is that of all rows.

    Cost: that of each autoencoder (see `ELMAutoEncoder`) and mp² flops for p random units; memory
    m times the widest autoencoder while the stack is built, p² + 2048·p afterwards.

    Parameters
    ----------
    {tail}

    {attributes}

    Notes
    -----
    More layers are not always better: compare with `ELMClassifier` of as many random units.

    Deviations: [TDH16] divide the sums that enter the top layer by their largest one; here they are
    standardised, then multiplied by `scale`.  Their ridge is given, ours chosen.

    References
    ----------
    [TDH16] J. Tang, C. Deng, G.-B. Huang (2016). Extreme learning machine for multilayer
    perceptron. IEEE Trans. Neural Netw. Learn. Syst. 27(4).

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from pinvlearn import DeepELMClassifier
    >>> X, y = load_digits(return_X_y=True)
    >>> model = DeepELMClassifier((60, 60), n_hidden=300, random_state=0).fit(X[:900] / 16, y[:900])
    >>> bool(model.score(X[900:] / 16, y[900:]) > 0.93)
    True
    """

    def __init__(
        self,
        layers: Any = (200,),
        *,
        n_hidden: int = 1000,
        activation: Any = "sigmoid",
        scale: float = 1.0,
        penalty: str = "l2",
        layer_alpha: Any = "auto",
        alpha: Any = "auto",
        solver: Any = "auto",
        direct_links: bool = False,
        class_weight: Any = None,
        loo_scoring: Any = "log_loss",
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.layers = layers
        self.n_hidden = n_hidden
        self.activation = activation
        self.scale = scale
        self.penalty = penalty
        self.layer_alpha = layer_alpha
        self.alpha = alpha
        self.solver = solver
        self.direct_links = direct_links
        self.class_weight = class_weight
        self.loo_scoring = loo_scoring
        self.n_jobs = n_jobs
        self.random_state = random_state


@documented
class DeepELMRegressor(ReadoutRegressor, _DeepELM):
    """Deep extreme learning machine for regression: each layer one solve, no epochs.

    Stacked autoencoders, a layer of random orthogonal units on top, and the read-out that minimises
    Σ_i w_i ‖h(x_i) B + b - y_i‖² + alpha·‖B‖²; see `DeepELMClassifier`.

    Parameters
    ----------
    {tail}

    {attributes}

    Examples
    --------
    >>> import numpy as np
    >>> from pinvlearn import DeepELMRegressor
    >>> X = np.linspace(-2.0, 2.0, 200)[:, None]
    >>> model = DeepELMRegressor((5,), n_hidden=50, random_state=0).fit(X, np.sin(3 * X[:, 0]))
    >>> bool(model.score(X, np.sin(3 * X[:, 0])) > 0.99)
    True
    """

    def __init__(
        self,
        layers: Any = (200,),
        *,
        n_hidden: int = 1000,
        activation: Any = "sigmoid",
        scale: float = 1.0,
        penalty: str = "l2",
        layer_alpha: Any = "auto",
        alpha: Any = "auto",
        solver: Any = "auto",
        direct_links: bool = False,
        loo_scoring: Any = "mse",
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.layers = layers
        self.n_hidden = n_hidden
        self.activation = activation
        self.scale = scale
        self.penalty = penalty
        self.layer_alpha = layer_alpha
        self.alpha = alpha
        self.solver = solver
        self.direct_links = direct_links
        self.loo_scoring = loo_scoring
        self.n_jobs = n_jobs
        self.random_state = random_state
