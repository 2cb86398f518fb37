"""Docstring paragraphs that learners share: parameters by name, and the attributes of a fit."""

from __future__ import annotations

import inspect

from sklearn.base import ClassifierMixin

PARAMETERS = {
    "alpha": """
    alpha : "auto", float or array, default="auto"
        Ridge (1/C and 1/v of the papers).  A number is obeyed, 0 being the papers'
        pseudo-inverse; an array is a path from which leave-one-out chooses; "auto" is a path of
        31 values, chosen from by exact leave-one-out (by generalised cross-validation where
        `loo_scoring` is None).""",
    "solver": """
    solver : str or object, default="auto"
        "exact" (the SVD), "adaptive" and "adaptive-flat" ([JL19] Algorithm 5 with the tolerance
        and the gradient stop), "cholesky", "gram", "qr", "randomized" ([MW15] Eq. (19)), "auto", or
        an object of `pinvlearn.readout.solvers`.  `report_` says what "auto" chose and why.""",
    "direct_links": """
    direct_links : bool, default=False
        Put the inputs beside the hidden units, so that the linear part is learned as such.""",
    "class_weight": """
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes.""",
    "loo_scoring": """
    loo_scoring : "mse", callable or None, default="mse"
        What leave-one-out judges alpha by.  A callable takes targets, left-out predictions and
        sample weights of all rows and returns a number, greater being better.  Equal scores are
        told apart by squared error, then by the larger ridge.  None does without leave-one-out, by
        generalised cross-validation: the fastest fit, but no `predict_interval`.""",
    "decoding": """
    decoding : {"auto", "argmax", "logistic"}, default="auto"
        How the outputs of classes, fitted by least squares, become scores of which the largest
        decides.  "argmax" takes them as they are; a class that lies between others then loses to
        them.  "logistic" puts them through f·A + b, fitted to the left-out outputs by multinomial
        logistic regression shrunk towards "argmax"; A and b are in `coef_` and `intercept_`.
        "auto" takes it where alpha is chosen by leave-one-out and rows left out are predicted
        better with it, by more than the standard error and in the terms of `loo_scoring` ("mse"
        cannot say): with one alpha, and after `partial_fit`, it is "argmax".  It costs
        O(n_samples·n_classes²), some hundred times.""",
    "alpha_per_target": """
    alpha_per_target : bool, default=False
        Choose a ridge for each target by its own left-out squared error, all from one factor, as
        `RidgeCV`; `alpha_` and `best_score_` are then arrays of shape (n_targets,), and
        `loo_scores_` has shape (n_alphas, n_targets).""",
    "keep_rows": """
    keep_rows : bool, default=False
        Keep a copy of the training rows, n_samples·(n_features + n_targets) numbers which are
        saved with the model, for the intervals "jackknife+" and "cv+".""",
    "n_jobs": """
    n_jobs : int, default=None
        Threads over blocks of rows; None takes as many as BLAS is allowed, -1 all cores, -2 all but
        one.  The result does not depend on it.""",
    "random_state": """
    random_state : int, RandomState, Generator or None, default=None
        Seed of the feature map and of the randomised solvers.""",
}
"""Parameters that several learners share, as their docstrings describe them."""

MIXING = (
    PARAMETERS["decoding"].replace('"logistic"}', '"logistic", "inputs"}')
    + """
        "inputs" averages these scores with those of a multinomial logistic regression on the
        inputs, whose weights are then in `links_`: its share is the mean that the left-out
        likelihood gives it.  "auto" does so with `solver="auto"` up to 500 rows, where it is worth
        a tenth of the log-loss and one to two points of accuracy, and takes tens of milliseconds;
        after `partial_fit` there is none."""
)

LINKS = """
    direct_links : "auto" or bool, default="auto"
        Put the inputs beside the hidden units, so that the linear part is learned as such.  "auto"
        does so where the map is drawn from 500 rows at most, with `solver="auto"`, no `rank` and
        several alphas, unless centres and width are given: on tens of rows that is worth a tenth
        of R² in the mean, and on hundreds some hundredths.  The inputs are then in units in which
        they vary as much in all as the units do, and are held within the box of those rows, half
        as wide again on either side.  True takes them as they are."""

KERNEL_LINKS = """
    direct_links : "auto" or bool, default="auto"
        Add ⟨x, z⟩ to the kernel, so that the linear part is learned as such.  "auto" does so for
        radial kernels of 500 rows at most, with an intercept, `solver="auto"`, no `rank` and
        several alphas: on tens of rows that is worth a tenth of R² in the mean, and on hundreds
        some hundredths.  The inputs are in units in which the linear part has as much variance as
        the kernel, and are held within the box of those rows, half as wide again on either side.
        True does so with any number of rows, and any kernel that is not precomputed."""

CLASSIFIER_SCORING = """
    loo_scoring : {"log_loss", "accuracy", "balanced_accuracy", "mse"}, callable or None, \
            default="log_loss"
        What leave-one-out judges alpha by.  "log_loss" is that of softmax at a temperature fitted
        for each alpha, "mse" the squared error of the ±1 targets.  A callable takes classes,
        left-out outputs (as of `decision_function`) and sample weights of all rows and returns a
        number, greater being better; it is called for each alpha with all rows and with five
        times four fifths of them.  Equal scores are told apart by squared error, then by the larger
        ridge.  None does without leave-one-out, by generalised cross-validation: the fastest fit,
        but no `predict_proba`."""

ATTRIBUTES = """
    Attributes
    ----------
    coef_ : array of shape (n_targets, n_units) or (n_units,)
        Weights of the units `map_` gives.
    intercept_ : float or array of shape (n_targets,)
        Unpenalised.
    alpha_ : float
        The ridge used.
    alphas_ : array
        The ridges it was chosen from.
    loo_scores_ : array
        Leave-one-out score of each of `alphas_` (larger is better; minus the loss where that is
        judged); `gcv_scores_` where `loo_scoring` is None and there was a path.
    best_score_ : float
        The score of `alpha_`: the best of the path, and flattered by having been chosen.
    corrected_score_ : float
        The same corrected for the choice: rows are dealt into five folds, and each fold's rows,
        left out as ever, are judged at the ridge that the other folds' scores choose.
    classes_ : array of shape (n_classes,)
        The classes in order, or the numbers of the labels; of classifiers.
    temperature_ : float
        What outputs are divided by to make probabilities; of classifiers with `predict_proba`.
    decoding_ : str
        "argmax", "logistic", "features" or "inputs", see `decoding`; of classifiers.
    links_ : array of shape (n_targets, n_features)
        Weights of the inputs, where `decoding_` is "inputs".
    corrected_accuracy_ : float
        The share of rows that is decided rightly in this way; of classifiers.
    loo_predictions_ : array of shape (n_samples,) or (n_samples, n_targets)
        Output for each training row of the read-out fitted to all others, given the map; with
        `decoding_` "features" of one fitted to four fifths of them.
    loo_error_ : array of the same shape
        How far rounding may have moved each of `loo_predictions_`, in their units; above 1e-8 of
        the largest a note in `report_` says so.
    rank_ : int
        Directions that took part.
    sizes_, size_alphas_, size_scores_ : arrays
        Where a size or a rank was chosen by leave-one-out: those judged, at which ridges, and
        their scores (larger is better), of shape (n_alphas, n_sizes); `SizePathDisplay` draws them.
    map_ : callable
        The drawn feature map.
    report_ : Report
        What was done, why, how exactly, and how long it took.
    summary_ : Gram or Triangle
        Sums over the rows, to add to and take from: where they came in pieces (`partial_fit`,
        `fit_blocks`, `fit_summary`), and after `fit` where the map keeps nothing of the rows and
        there is a ridge.
    n_features_in_, feature_names_in_
        As everywhere in scikit-learn."""


def documented(cls: type) -> type:
    """Fill shared parameters, in the order of the signature, and attributes into a docstring.

    Everything is dedented first: Python 3.13 and later do so when they compile a docstring, earlier
    ones do not, and a section indented otherwise than its neighbours is lost to whoever reads it.
    """
    texts = PARAMETERS | getattr(cls, "_parameter_docs", {})
    if issubclass(cls, ClassifierMixin):
        texts |= {"loo_scoring": CLASSIFIER_SCORING}
    names = [name for name in inspect.signature(cls).parameters if name in texts]
    shared = "\n".join(inspect.cleandoc(texts[name]) for name in names)
    cls.__doc__ = (
        inspect.cleandoc(cls.__doc__ or "")
        .replace("{tail}", shared)
        .replace("{attributes}", inspect.cleandoc(ATTRIBUTES))
        .replace("{choices}", inspect.cleandoc(getattr(cls, "_choice_docs", "")))
    )
    return cls
