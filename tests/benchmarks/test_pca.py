"""The race of PCAs, at a size where only its logic can be seen."""

import json

import pytest

from benchmarks import cli
from benchmarks.speed import pca
from benchmarks.timing import COLUMNS


@pytest.mark.filterwarnings("ignore:Number of samples")
@pytest.mark.sweep
def test_a_small_race_of_pcas(tmp_path):
    options = ["--shapes", "tall", "wide", "sparse", "--shrink", "50", "--repeats", "1"]
    assert cli.run_command(["speed-pca", *options, "--out", str(tmp_path)]) == 0
    content = json.loads((tmp_path / "speed-pca.json").read_text())
    records = content["records"]
    assert {record["shape"] for record in records} == {"tall", "wide", "sparse"}
    ours = [record for record in records if record["method"] == "pinvlearn FastPCA"]
    assert len(ours) == 6  # shapes and calls
    assert all(abs(record["excess"]) < 1e-8 for record in ours)  # all by "gram" at this size
    assert not any("randomized" in r["method"] for r in records if r["shape"] == "sparse")
    assert any("partial_fit" in finding for finding in content["findings"])


def test_a_shape_on_which_nobody_is_as_exact_has_no_ratio():
    own = {"shape": "far", "method": pca.OURS, "excess": 0.0, "variance_error": 0.0}
    peer = own | {"method": "peer", "excess": 1.0}
    group = [record | dict.fromkeys(COLUMNS.values(), 1.0) for record in (own, peer)]
    assert pca._beside_peers([group], "cpu_seconds", 1e-6).endswith("1e-06: far none.")
    assert "smallest 1.00 (target 1); far 1.00" in pca._beside_peers([group], "cpu_seconds", 2.0)
