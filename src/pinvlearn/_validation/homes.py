"""Where arrays live: those of other libraries, and whether they may meet."""

from __future__ import annotations

from typing import Any

from sklearn import get_config

from pinvlearn._core.device import device_name, is_device, is_foreign, moved_to, on_device, to_host
from pinvlearn._validation.magnitudes import unmasked


def dispatching() -> bool:
    """Whether scikit-learn was told to take other arrays than NumPy's as they are."""
    return bool(get_config().get("array_api_dispatch", False))


def taken_as_is(x: Any) -> bool:
    """Whether x is another library's array, and scikit-learn was told to leave it that."""
    return is_foreign(x) and dispatching()


def check_library(*arrays: Any) -> None:
    """Refuse arrays on a device where scikit-learn was not told to work there.

    Arrays of torch on the host become NumPy's there, as they always have.
    """
    for x in arrays:
        if is_foreign(x) and not dispatching() and "cpu" not in str(x.device).lower():
            raise TypeError(
                f"an array of {device_name(on_device(x))} was given, and array_api_dispatch is "
                "off. Set the environment variable SCIPY_ARRAY_API=1 before Python starts, and "
                "sklearn.set_config(array_api_dispatch=True), to work there; or move the data to "
                "NumPy."
            )


def following(x: Any, X: Any) -> Any:
    """Targets or weights beside rows X: they follow them, from wherever they live.

    Those of NumPy follow when they are coded, which names of classes have to be on the host.
    """
    if not taken_as_is(x):
        return unmasked(x)
    x = on_device(x)
    return x if device_name(x) == device_name(X) else moved_to(to_host(x), X)


def on_host(X: Any) -> tuple[Any, Any]:
    """A table as the host knows it, and an array where it lives (None: there)."""
    check_library(X)
    if not taken_as_is(X) and not is_device(X):
        return X, None
    like = on_device(X)
    return to_host(like), like


def check_same_home(estimator: Any, X: Any, fitted: Any, method: str) -> None:
    """Refuse rows that live elsewhere than what they are to meet, which those of the fit made."""
    if device_name(X) != device_name(fitted):
        raise ValueError(
            f"{type(estimator).__name__}.{method}() must use the same namespace and device as "
            f"fit(): X is of {device_name(X)}, and the model was fitted on {device_name(fitted)}. "
            "Move X there, or fit again where X lives."
        )


def check_on_host(what: str, *arrays: Any) -> None:
    """Refuse arrays of other libraries where the work needs compiled code or sparse matrices."""
    for x in arrays:
        if is_foreign(x):
            raise TypeError(
                f"{what} works on NumPy and SciPy arrays alone; an array of "
                f"{device_name(on_device(x))} was given. Move it first (torch: .cpu().numpy(), "
                "CuPy: .get())."
            )
