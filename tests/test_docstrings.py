"""Everything public is described and shown by an example (which pytest runs, as a doctest)."""

import inspect

import pytest

import pinvlearn
from pinvlearn.learners._docs import documented

PUBLIC = {name: getattr(pinvlearn, name) for name in pinvlearn.__all__ if name != "solvers"}


@pytest.mark.parametrize("name", PUBLIC)
def test_everything_public_is_described(name):
    doc = inspect.getdoc(PUBLIC[name])
    assert doc
    assert doc.split("\n")[0].endswith((".", ",", ":"))


FUNCTIONS = [name for name, value in PUBLIC.items() if inspect.isfunction(value)]
ESTIMATORS = [name for name, value in PUBLIC.items() if hasattr(value, "fit")]


@pytest.mark.parametrize("name", FUNCTIONS + ESTIMATORS)
def test_functions_and_estimators_have_an_example(name):
    shown_with = {"load": "save"}  # one example writes a file and reads it
    assert ">>>" in PUBLIC[shown_with.get(name, name)].__doc__


@pytest.mark.parametrize("name", PUBLIC)
def test_methods_are_described(name):
    if inspect.isclass(PUBLIC[name]):
        for method, value in vars(PUBLIC[name]).items():
            if not method.startswith("_") and (callable(value) or isinstance(value, property)):
                assert inspect.getdoc(value), f"{name}.{method}"


class _Documented(pinvlearn.ELMRegressor):
    """A learner.

    Parameters
    ----------
    {tail}

    {attributes}
    own_ : int
        Its own.
    """


@pytest.mark.parametrize("compiled", [lambda doc: doc, inspect.cleandoc], ids=["as is", "dedented"])
def test_shared_parameters_are_found_whether_or_not_the_compiler_dedents(compiled):
    cls = type("_Documented", (_Documented,), {"__doc__": compiled(_Documented.__doc__)})
    lines = inspect.getdoc(documented(cls)).splitlines()
    headed = [line.split(" : ")[0] for line in lines if " : " in line and line[0] != " "]
    parameters = list(inspect.signature(cls).parameters)
    assert headed[: len(parameters)] == parameters
    assert headed.index("coef_") < headed.index("own_")
    assert lines[lines.index("Attributes") + 1] == "----------"


@pytest.mark.parametrize("name", [name for name in ESTIMATORS if name.endswith("Classifier")])
def test_what_classifiers_have_is_described(name):
    """What every one has, and what not all have."""
    doc, cls = PUBLIC[name].__doc__, PUBLIC[name]
    assert "\nclasses_ : " in inspect.cleandoc(doc)
    for attribute in ("temperature_", "loo_predictions_", "corrected_accuracy_"):
        has = hasattr(cls, "predict_set") and "loo_scoring" in inspect.signature(cls).parameters
        assert (f"{attribute} : " in doc) == has, attribute
