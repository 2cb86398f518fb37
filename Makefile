# Every target makes its own virtual environment and installs what it needs: Python 3.11 or later,
# pip and make are enough.  A stamp for each extra and each group keeps later runs fast.

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/$(if $(filter Windows_NT,$(OS)),Scripts,bin)
# By file: what a file sets up or compiles is set up or compiled in one of the two processes; in
# order, so that the small ones come last and both end at about the same time.
PYTEST := $(BIN)/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder

TESTS := test test-all test-lowest test-spark test-faults test-onnx test-docs test-attacks test-gpu coverage
.PHONY: demo $(TESTS) lint docs wheel clean

# One BLAS thread per worker: two workers on two cores must not fight over them.
$(TESTS): export OPENBLAS_NUM_THREADS = 1
$(TESTS): export OMP_NUM_THREADS = 1
$(TESTS): export MKL_NUM_THREADS = 1
$(TESTS): export VECLIB_MAXIMUM_THREADS = 1
$(TESTS): export MPLBACKEND = agg
# Tests start processes, each of which would compile the package again where nothing is kept.
unexport PYTHONDONTWRITEBYTECODE

demo: $(VENV)/extras-cli,plot
	$(BIN)/pinvlearn compare --folds 1

test: $(VENV)/group-test
	$(PYTEST)

# Every case of every table, of which `make test` takes a part: of products, all pairs.
test-all: $(VENV)/group-test
	$(PYTEST) -m "not spark and not faults and not attacks and not browser and not gpu"

# With the lowest versions that pyproject.toml allows, in an environment of their own.
test-lowest: export PIP_CONSTRAINT = build/lowest.txt
# Old packages meet newer neighbours there, whose deprecations are no concern of ours.
test-lowest: export PYTEST_ADDOPTS = -W ignore::DeprecationWarning
test-lowest:
	mkdir -p build
	$(PYTHON) tools/lowest.py > build/lowest.txt
	$(MAKE) test VENV=$(VENV)-lowest

# A Spark cluster of two executors on this machine; without Java the tests skip and say so.
test-spark: $(VENV)/group-test $(VENV)/extras-spark
	$(BIN)/python -m pytest -m spark tests

# Workers of Dask, executors of Spark and fits with checkpoints, killed while they work.
test-faults: $(VENV)/group-test $(VENV)/extras-spark
	$(BIN)/python -m pytest -m faults tests

# Graphs of every learner in onnxruntime; without it these tests skip in `make test` and say so.
test-onnx: $(VENV)/group-onnx
	$(BIN)/python -m pytest tests/deploy

# Pages in a real browser, at the widths of a phone and of a screen; without Chromium the tests skip.
test-docs: $(VENV)/group-test
	$(BIN)/python -m pytest -m browser tests

# Arrays of torch and CuPy, on the CPU and on CUDA, with whatever of them GPUPYTHON has: a GPU
# machine's own Python, since each card needs its own build.  What is missing is skipped and says so.
GPUPYTHON ?= $(BIN)/python
test-gpu:
	PYTHONPATH=$(CURDIR)/src:$(PYTHONPATH) $(GPUPYTHON) -m pytest -m gpu tests/_core tests/functional \
		tests/learners/test_on_device.py tests/learners/test_blocks_on_device.py
	PYTHONPATH=$(CURDIR)/src:$(PYTHONPATH) $(GPUPYTHON) -m pytest -m gpu tests/cli/test_fit.py

test-attacks: $(VENV)/group-test
	$(PYTEST) -m attacks || [ $$? -eq 5 ]  # 5: there are none

# Lines and branches that `make test` reaches; compiled kernels cannot be counted.
coverage: $(VENV)/group-test
	$(PYTEST) --cov --cov-report=term:skip-covered --cov-report=xml

lint: $(VENV)/group-dev
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python tools/check_docstrings.py

docs: $(VENV)/group-docs
	$(BIN)/python -m sphinx -W --keep-going -b html docs docs/_build/html

# What a release would publish, checked and then installed and used in an empty environment.
wheel: $(VENV)/group-release
	rm -rf dist $(VENV)-wheel
	$(BIN)/python -m build
	$(BIN)/python -m twine check --strict dist/*
	$(PYTHON) -m venv --without-pip $(VENV)-wheel
	$(BIN)/python -m pip --python $(VENV)-wheel install --quiet dist/*.whl
	cd dist && $(abspath $(subst $(VENV),$(VENV)-wheel,$(BIN)))/python ../tools/check_wheel.py

clean:
	rm -rf $(VENV) $(VENV)-lowest $(VENV)-wheel build dist docs/_build docs/auto_examples docs/generated
	rm -rf .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis .coverage coverage.xml
	find src tests benchmarks examples -name __pycache__ -prune -exec rm -rf {} + 2>/dev/null || true

$(VENV)/extras-%: pyproject.toml | $(VENV)/pip
	$(BIN)/python -m pip install --quiet --editable ".[$*]"
	touch $@

$(VENV)/group-%: pyproject.toml | $(VENV)/pip
	$(BIN)/python -m pip install --quiet --editable . --group $*
	touch $@

# The pip that comes with Python 3.11 does not know dependency groups.  It installs the new one
# from outside (--python), so a system Python without ensurepip will do.
$(VENV)/pip:
	$(PYTHON) -m venv --without-pip $(VENV)
	$(PYTHON) -m pip --python $(BIN)/python install --quiet "pip>=25.1"
	touch $@
