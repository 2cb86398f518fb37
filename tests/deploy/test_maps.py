"""Graphs know every map, kernel, activation and estimator, or say why not."""

import inspect

import pytest
from sklearn.base import BaseEstimator

import pinvlearn
from pinvlearn.deploy import maps
from pinvlearn.deploy.estimators import CONVERTERS, REFUSED
from pinvlearn.deploy.pipelines import ESTIMATORS
from pinvlearn.features.activations import ACTIVATIONS
from pinvlearn.features.kernels import KERNELS
from pinvlearn.features.radial import RADIAL

PUBLIC = [getattr(pinvlearn, name) for name in pinvlearn.__all__]
KINDS = [kind for kind in PUBLIC if inspect.isclass(kind) and issubclass(kind, BaseEstimator)]


def test_every_activation_and_kernel_has_nodes():
    assert set(maps.ACTIVATIONS) == set(ACTIVATIONS)
    assert set(maps.RADIAL) == set(RADIAL)
    assert {*maps.RADIAL, *maps.PRODUCTS} == set(KERNELS)


@pytest.mark.parametrize("kind", KINDS)
def test_every_estimator_is_converted_or_refused(kind):
    converted, refused = issubclass(kind, tuple(CONVERTERS)), issubclass(kind, tuple(REFUSED))
    assert converted != refused
    assert (kind in ESTIMATORS) == converted
