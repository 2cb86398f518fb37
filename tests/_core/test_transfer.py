"""Rows of the host on a device: what names are taken, and that copies are whole."""

import sys

import numpy as np
import pytest

from backends import host
from pinvlearn._core import transfer
from pinvlearn._core.device import on_device
from pinvlearn._core.transfer import device_like, sent


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64])
@pytest.mark.parametrize("shape", [(0, 3), (1, 1), (1000, 3), (257,)])
def test_a_copy_is_whole_and_its_own(backend, rng, monkeypatch, dtype, shape):
    monkeypatch.setattr(transfer, "PINNED", 4096)  # several turns of the buffers
    transfer._lane.cache_clear()
    x = (100 * rng.standard_normal(shape)).astype(dtype)
    like = on_device(backend.put(np.zeros(0)))
    for given in (x, x[::2], np.asfortranarray(x)):
        kept = given.copy()
        found = sent(given, like)
        if given.flags.writeable:
            given[...] = 0
        assert backend.is_there(found.data)
        assert found.dtype == dtype
        assert np.array_equal(host(found.data), kept)
        given[...] = kept
    transfer._lane.cache_clear()


def test_a_device_is_named():
    with pytest.raises(TypeError, match="must be the name of a device"):
        device_like(0)


def test_without_torch_the_remedy_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(ImportError, match="needs the package torch.*leave device out"):
        device_like("cuda")


@pytest.mark.gpu
def test_devices_that_are_not_there_are_named():
    torch = pytest.importorskip("torch")
    pytest.importorskip("array_api_compat")
    assert device_like("cpu").data.device.type == "cpu"
    with pytest.raises(ValueError, match="is no device of torch"):
        device_like("graphics")
    beyond = f"cuda:{torch.cuda.device_count()}"
    with pytest.raises(ValueError, match="torch sees .* CUDA device"):
        device_like(beyond)
    with pytest.raises(ValueError, match="meta|float64"):
        device_like("mps")
