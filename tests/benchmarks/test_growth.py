"""The page on growth: its formulas are the docstrings', and its words follow from the records."""

import json
from importlib import import_module

import pytest

from benchmarks import cli
from benchmarks.speed import growth


@pytest.mark.parametrize("name", growth.CASES)
def test_formulas_are_those_of_the_docstrings(name):
    module, thing = growth.CASES[name].documented.split(":")
    text = " ".join(getattr(import_module(module), thing).__doc__.split())
    assert growth.CASES[name].formula in text


@pytest.mark.parametrize("name", growth.CASES)
def test_formulas_grow_with_what_is_doubled(name):
    case = growth.CASES[name]
    for counted in (case.flops, case.numbers):
        growths = [
            counted({**case.sizes, axis: 2 * size}) / counted(case.sizes)
            for axis, size in case.sizes.items()
        ]
        assert max(growths) > 1.0
        assert all(1.0 <= ratio <= 8.0 for ratio in growths)


@pytest.mark.sweep
def test_a_call_is_measured_and_said(tmp_path):
    options = ["--cases", "FastPCA", "--shrink", "10", "--repeats", "1", "--out", str(tmp_path)]
    assert cli.run_command(["growth", *options]) == 0
    content = json.loads((tmp_path / "growth.json").read_text())
    assert [record["axis"] for record in content["records"]] == ["m", "n", "k", "threads"]
    assert content["records"][1]["time_formula"] == pytest.approx(4.0)
    assert len(content["findings"]) == 3
