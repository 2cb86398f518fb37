"""Compiled loops where nothing can be written, as in a read-only install without a home."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import pinvlearn

USES = """
import numpy as np, pinvlearn as pl
from pinvlearn.features.radial import laplacian
assert pl.__file__.startswith({package!r}), pl.__file__
print(laplacian(np.eye(3), np.eye(3), 0.5).round(6).tolist())
"""


@pytest.mark.sweep
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
    off = round(float(np.exp(-1.0)), 6)
    assert done.stdout == f"{[[1.0 if i == j else off for j in range(3)] for i in range(3)]}\n"
