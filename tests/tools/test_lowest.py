"""The lowest versions are those that pyproject.toml states."""

from tools import lowest


def test_every_requirement_has_its_minimum():
    lines = list(lowest.constraints())
    assert all(line.count("==") == 1 for line in lines)
    names = {line.split("==")[0] for line in lines}
    assert {"numpy", "scikit-learn", "skops", "dask", "pyspark"} <= names
    assert "pinvlearn" not in names
