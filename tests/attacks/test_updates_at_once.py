"""Two updates of one model at once: the rows of both are in it afterwards."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="commands run in forks")


def check(folder: Path, rounds: int) -> None:
    done = subprocess.run(
        [sys.executable, Path(__file__).with_name("update_pairs.py"), folder, str(rounds)],
        capture_output=True,
        text=True,
        env=os.environ | {"OPENBLAS_NUM_THREADS": "1"},
    )
    assert done.returncode == 0, done.stderr
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert found == rounds * [{"codes": [0, 0], "rows": 90.0, "mode": "0o600", "left": []}]


def test_a_few_pairs(tmp_path, record_property) -> None:
    record_property("attempts", 3)
    check(tmp_path, 3)


@pytest.mark.attacks
def test_many_pairs(tmp_path, record_property) -> None:
    record_property("attempts", 40)
    check(tmp_path, 40)
