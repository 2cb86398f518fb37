"""Compiled loops where nothing can be written, as in a read-only install without a home."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import pinvlearn

USES = """
import numpy as np, scipy.sparse, pinvlearn as pl
assert pl.__file__.startswith({package!r}), pl.__file__
S = scipy.sparse.random_array((60, 40), density=0.2, rng=0, format="csr")
from pinvlearn._core import products
products.COMPILED_WORK = 0
print(products.gram(S).shape, pl.hub_spoke(S, 0.1).m1 >= 0)
X = np.where(np.random.default_rng(0).random((20, 5)) < 0.2, np.nan, 1.0)
print(pl.SVDImputer().fit_transform(X).shape)
"""


@pytest.mark.skipif(os.name != "posix", reason="folders are made read-only by their mode")
def test_nothing_can_be_written(tmp_path):
    package = tmp_path / "site" / "pinvlearn"
    ignore = shutil.ignore_patterns("__pycache__")
    shutil.copytree(Path(pinvlearn.__file__).parent, package, ignore=ignore)
    nowhere = tmp_path / "file"  # where a folder is wanted: root may write to read-only folders
    nowhere.write_text("")
    for folder in [package, *(path for path in package.rglob("*") if path.is_dir())]:
        (folder / "__pycache__").write_text("")
    env = os.environ | {
        "PYTHONPATH": str(package.parent),
        "PYTHONDONTWRITEBYTECODE": "1",
        "NUMBA_CACHE_DIR": str(nowhere / "cache"),
        "HOME": str(nowhere / "home"),
        "XDG_CACHE_HOME": str(nowhere / "cache"),
    }
    done = subprocess.run(
        [sys.executable, "-c", USES.format(package=str(package.parent))],
        capture_output=True, text=True, env=env, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.split("\n")[:2] == ["(40, 40) True", "(20, 5)"]
