# Every target makes its own virtual environment and installs what it needs:
# Python 3.11+, pip and make are enough. A stamp per extra keeps later runs fast.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: demo test test-spark test-faults test-onnx lint docs clean

# One BLAS thread per worker: two workers on two cores must not fight over them.
test test-spark test-faults test-onnx: export OPENBLAS_NUM_THREADS = 1
test test-spark test-faults test-onnx: export OMP_NUM_THREADS = 1
test test-spark test-faults test-onnx: export MKL_NUM_THREADS = 1
test test-spark test-faults test-onnx: export VECLIB_MAXIMUM_THREADS = 1
test test-spark test-faults test-onnx: export MPLBACKEND = agg

demo: $(VENV)/installed-cli,plot
	$(BIN)/pinvlearn compare

# By group: the tests that share a Dask cluster run in one of the two processes.
test: $(VENV)/installed-test
	$(BIN)/python -m pytest -n 2 --dist loadgroup

# A Spark cluster of two executors on this machine; without Java the tests skip and say so.
test-spark: $(VENV)/installed-test,spark
	$(BIN)/python -m pytest -m spark tests/test_spark.py

# Workers of Dask and executors of Spark, killed while they work.
test-faults: $(VENV)/installed-test,spark
	$(BIN)/python -m pytest -m faults tests/test_faults.py

# Graphs of every learner in onnxruntime; without it these tests skip in `make test` and say so.
test-onnx: $(VENV)/installed-test-onnx
	$(BIN)/python -m pytest tests/deploy

lint: $(VENV)/installed-dev
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports

docs: $(VENV)/installed-docs
	$(BIN)/python -m sphinx -W --keep-going -b html docs docs/_build/html

clean:
	rm -rf $(VENV) build dist docs/_build docs/auto_examples docs/generated
	rm -rf .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis
	find src tests benchmarks examples -name __pycache__ -prune -exec rm -rf {} + 2>/dev/null || true

# pip installs from outside (--python), so a system Python without ensurepip will do.
$(VENV)/installed-%: pyproject.toml
	$(PYTHON) -m venv --without-pip $(VENV)
	$(PYTHON) -m pip --python $(BIN)/python install --quiet --editable ".[$*]"
	touch $@
