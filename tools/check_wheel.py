"""Use an installed pinvlearn as a user would, in an environment that has nothing else.

Run outside the source tree, so that what is imported is what was installed.
"""

import sys
from importlib.metadata import version
from pathlib import Path

import numpy as np

import pinvlearn


def check() -> str:
    """A line that says what was used, or an error."""
    home = Path(pinvlearn.__file__).resolve()
    if not home.is_relative_to(Path(sys.prefix).resolve()):
        raise SystemExit(f"{home} is not the installed package: run this outside the source tree")
    if pinvlearn.__version__ != version("pinvlearn"):
        raise SystemExit(f"pinvlearn says it is {pinvlearn.__version__}, its metadata do not")
    if not home.with_name("py.typed").exists():
        raise SystemExit("py.typed is missing: type checkers would ignore the package")
    for name in pinvlearn.__all__:
        getattr(pinvlearn, name)
    X = np.linspace(0.0, 1.0, 60).reshape(-1, 1)
    model = pinvlearn.RBFNetworkRegressor(20, random_state=0).fit(X, np.sin(6.0 * X[:, 0]))
    score = model.score(X, np.sin(6.0 * X[:, 0]))
    if not score > 0.99:
        raise SystemExit(f"a model of a sine has a score of {score}")
    return f"pinvlearn {pinvlearn.__version__}: {len(pinvlearn.__all__)} names, score {score:.4f}"


if __name__ == "__main__":
    print(check())
