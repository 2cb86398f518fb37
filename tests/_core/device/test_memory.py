"""What a device has room for is asked before work starts, and its errors are told in our words."""

import numpy as np
import pytest

from pinvlearn._core.device import device_name, memory, on_device


def test_what_does_not_fit_is_refused_with_the_remedy(backend, monkeypatch):
    x = on_device(backend.put(np.zeros(3)))
    monkeypatch.setattr(memory, "free_memory", lambda x: 800)
    memory.check_room(x, 100, "These", "Take fewer.")
    with pytest.raises(MemoryError, match=r"These need about .* GiB on .* free there. Take fewer."):
        memory.check_room(x, 101, "These", "Take fewer.")


def test_a_library_s_error_of_memory_becomes_ours():
    class OutOfMemoryError(RuntimeError):
        """As torch and CuPy call theirs."""

    text = "no room left on the device .*CUDA.*empty_cache"
    with pytest.raises(MemoryError, match=text), memory.memory_named():
        raise OutOfMemoryError("CUDA: tried to allocate")
    with pytest.raises(RuntimeError, match="other"), memory.memory_named():
        raise RuntimeError("other")


def test_a_card_slow_at_double_precision_is_named(backend, monkeypatch):
    x, asked = on_device(backend.put(np.zeros(3))), []

    def seconds(x, dtype):
        asked.append(dtype)
        return 1e-3 if dtype == np.float32 else 32e-3

    assert memory.slow_double(None) == ()
    if memory.free_memory(x) is None:
        assert memory.slow_double(x) == ()
    monkeypatch.setattr(memory, "free_memory", lambda x: 1)
    monkeypatch.setattr(memory, "DOUBLE_COST", {})
    monkeypatch.setattr(memory, "_product_seconds", seconds)
    for _ in range(2):
        (note,) = memory.slow_double(x)
        assert "32 times as long in double precision" in note
        assert "0.54 Tflop/s" in note
    assert len(asked) == 2  # once for each
    monkeypatch.setattr(memory, "DOUBLE_COST", {device_name(x): (1.5, 60.0)})
    assert memory.slow_double(x) == ()


def test_products_are_timed(backend, monkeypatch):
    monkeypatch.setattr(memory, "SIDE", 8)
    assert memory._product_seconds(on_device(backend.put(np.zeros(3))), np.float32) > 0.0
