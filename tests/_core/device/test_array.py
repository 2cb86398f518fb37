"""Arrays of other libraries answer to NumPy's functions as NumPy's own do."""

import pickle

import numpy as np
import pytest

from backends import host
from pinvlearn._core.device import (
    DeviceArray,
    as_given,
    device_name,
    home,
    is_foreign,
    moved_to,
    on_device,
    to_host,
)

A = np.random.default_rng(0).standard_normal((6, 4))
B = np.random.default_rng(1).standard_normal((6, 4))
V = np.arange(1.0, 5.0)

CASES = {
    "arithmetic": lambda a, b, v: (a + 2.0 * b - b / 3.0) ** 2 + v,
    "a host array on the left": lambda a, b, v: V * a + V[None] - a,
    "truth values": lambda a, b, v: (a > 0.0) * b,
    "products": lambda a, b, v: a.T @ b + (a @ v)[:4],
    "outer": lambda a, b, v: np.multiply.outer(v, v) + np.outer(v, V),
    "sums": lambda a, b, v: a.sum(axis=0) + np.mean(b, axis=0) + a.var() + np.sum(a),
    "largest": lambda a, b, v: a.max(axis=0) + np.minimum(b.min(axis=0), 0.0),
    "where": lambda a, b, v: np.where(a > 0.0, b, -1.0),
    "divide where": lambda a, b, v: np.divide(1.0, v, out=np.zeros_like(v), where=v > 2.0),
    "clip": lambda a, b, v: np.clip(a, -0.5, 0.5) + a.clip(min=0.0),
    "exponentials": lambda a, b, v: np.exp(a) + np.log1p(np.abs(b)) + np.tanh(a) + np.square(a),
    "stack": lambda a, b, v: np.stack([a, b]).reshape(-1, 4),
    "vstack": lambda a, b, v: np.vstack([a, B, v]),
    "hstack": lambda a, b, v: np.hstack([a, b]),
    "columns": lambda a, b, v: np.column_stack([a[:, 0], b]),
    "reversed": lambda a, b, v: a[::-1, 1:],
    "places": lambda a, b, v: a[np.array([3, 1]), 1:3],
    "some columns": lambda a, b, v: a[:, np.array([True, False, True, False])],
    "places of a transpose": lambda a, b, v: a.T[:3, np.array([4, 0, 0])],
    "a new axis": lambda a, b, v: (a[..., None] * v[:, None]).sum(axis=-1),
    "einsum": lambda a, b, v: np.einsum("ij,ij->j", a, b) + np.einsum("ij,ij->i", a, b)[:4],
    "diagonal": lambda a, b, v: np.diagonal(a) + np.trace(a[:4]),
    "triangles": lambda a, b, v: np.tril(a[:4]) + np.triu(b[:4], 1),
    "norms": lambda a, b, v: np.linalg.norm(a, axis=0) + np.linalg.norm(v),
    "average": lambda a, b, v: np.average(a, axis=0, weights=np.abs(b[:, 0])),
    "axes": lambda a, b, v: np.moveaxis(a[:, :, None], -1, 0)[0].swapaxes(0, 1),
    "sorted": lambda a, b, v: np.sort(a, axis=0) + a.argmax(axis=0),
    "made": lambda a, b, v: np.ones((4, 4), like=home(v)) + np.eye(4, like=home(v)) * v,
    "extremes": lambda a, b, v: np.isfinite(a / 0.0).astype(np.float64) + np.isnan(b),
}


@pytest.mark.filterwarnings("ignore:divide by zero")
@pytest.mark.parametrize("case", CASES)
def test_functions_give_what_numpy_gives(backend, case):
    expected = CASES[case](A, B, V)
    found = CASES[case](*(DeviceArray(backend.put(x)) for x in (A, B, V)))
    assert backend.is_there(as_given(found))
    assert found.dtype == expected.dtype
    np.testing.assert_allclose(to_host(found), expected, rtol=1e-13, atol=1e-14)


def test_in_place_writes_to_the_array_itself(backend):
    data = backend.put(A)
    x = DeviceArray(data)
    x += 1.0
    x[:, 1:3] *= 2.0
    np.exp(x, out=x)
    x[0] = 7.0
    expected = A + 1.0
    expected[:, 1:3] *= 2.0
    expected = np.exp(expected)
    expected[0] = 7.0
    np.testing.assert_allclose(host(data), expected, rtol=1e-13)


def test_nothing_comes_back_unasked(backend):
    x = on_device(backend.put(A))
    with pytest.raises(TypeError, match="Move the data to NumPy"):
        np.asarray(x)
    with pytest.raises(TypeError, match=r"numpy\.fliplr is not known"):
        np.fliplr(x)


def test_moving(backend):
    x = on_device(backend.put(A))
    assert is_foreign(backend.put(A))
    assert not is_foreign(A)
    np.testing.assert_array_equal(to_host(moved_to(B, x)), B)
    assert moved_to(x, B) is not x
    assert isinstance(moved_to(x, B), np.ndarray)
    assert device_name(x) != device_name(A) == "numpy on the host"
    assert float(x[0, 0]) == A[0, 0]
    assert f"{x[0, 0]:.3f}" == f"{A[0, 0]:.3f}"


def test_pickles(backend):
    x = on_device(backend.put(A))
    if backend.xp.__name__ == "array_api_strict":
        pytest.skip("array-api-strict does not pickle its arrays")
    np.testing.assert_array_equal(to_host(pickle.loads(pickle.dumps(x))), A)
