"""The race of PCAs, at a size where only its logic can be seen."""

import json

import pytest

from benchmarks import cli


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
