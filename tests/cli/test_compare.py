"""`pinvlearn compare`: methods side by side, on digits or a file."""

import json
import sys
from pathlib import Path

from commands import fails, ok


def test_compare_on_digits() -> None:
    result = ok("compare", "--kernels", 60, "--folds", 2, "--json")
    values = json.loads(result.stdout)
    assert list(values["methods"]) == ["exact", "adaptive", "adaptive-flat", "auto"]
    assert (values["data"], values["rows"], values["score"]) == ("digits", 1797, "accuracy")
    exact = values["methods"]["exact"]
    assert exact["ratio"] == 1.0
    assert exact["rank"] == 60
    assert all(0.6 < method["score"] < 1 for method in values["methods"].values())
    assert Path(values["plot"]).read_bytes().startswith(b"\x89PNG")


def test_compare_on_a_file(csv) -> None:
    args = ["--target", "amount", "--folds", 1, "--kernels", 40, "--plot", "c.svg"]
    result = ok("compare", csv, *args)
    assert "test R²" in result.stdout
    assert "convergence plot: c.svg" in result.stdout
    assert "<svg" in Path("c.svg").read_text()


def test_compare_with_rare_classes_or_few_rows(table) -> None:
    table.loc[0, "kind"] = "rare"
    table.to_csv("t.csv", index=False)
    args = ["compare", "t.csv", "--target", "kind", "--kernels", 20]
    assert "class 'rare' has 1 of the rows" in ok(*args, "--folds", 2).stderr
    assert "120 rows are too few for 99 folds" in fails(1, *args, "--folds", 99)


def test_compare_without_matplotlib_still_compares(monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    result = ok("compare", "--kernels", 20, "--folds", 1)
    assert "no plot: plots need matplotlib" in result.stderr
    assert "adaptive-flat" in result.stdout
