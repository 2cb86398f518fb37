"""Tests mirror src: who looks for the tests of a module finds them under its name."""

from pathlib import Path

TESTS = Path(__file__).parent
PACKAGE = TESTS.parent / "src" / "pinvlearn"
MODULES = [
    path.relative_to(PACKAGE).as_posix()
    for path in sorted(PACKAGE.rglob("*.py"))
    if path.name != "__init__.py" and not path.name.startswith("_compiled")
]

ELSEWHERE = {
    "__main__.py": "cli/test_app.py",
    "_core/archives.py": "_core/test_files.py",
    "_core/checks.py": "test_validation.py",
    "_core/compiled.py": "_core/test_products.py",
    "_core/device/functions.py": "_core/device/test_array.py",
    "_core/device/homes.py": "_core/device/test_array.py",
    "_core/device/keys.py": "_core/device/test_array.py",
    "_core/device/libraries.py": "_core/device/test_array.py",
    "_core/device/ufuncs.py": "_core/device/test_array.py",
    "_validation/blocks.py": "learners/test_ledger.py",
    "_validation/entries.py": "learners/test_partial.py",
    "_validation/homes.py": "learners/test_on_device.py",
    "_validation/images.py": "learners/test_receptive_fields.py",
    "_validation/magnitudes.py": "test_validation.py",
    "_validation/matrices.py": "test_validation.py",
    "_validation/memory.py": "test_validation.py",
    "_validation/parameters.py": "test_validation.py",
    "_validation/rows.py": "test_validation.py",
    "cli/_imputing.py": "cli/test_impute.py",
    "cli/_matrix.py": "cli/test_svd.py",
    "cli/_model.py": "cli/test_fit.py",
    "cli/_options.py": "cli/test_fit.py",
    "cli/_output.py": "cli/test_predict.py",
    "cli/_predicting.py": "cli/test_predict.py",
    "cli/_contest.py": "cli/test_compare.py",
    "cli/_race.py": "cli/test_compare.py",
    "cli/_sources.py": "cli/test_impute.py",
    "cli/_target.py": "cli/test_data.py",
    "cli/_updating.py": "cli/test_update.py",
    "cli/merge.py": "cli/test_update.py",
    "deploy/estimators.py": "deploy/test_onnx.py",
    "deploy/graph.py": "deploy/test_onnx.py",
    "engines/dask.py": "test_dask.py",
    "engines/plan.py": "learners/test_ledger.py",
    "engines/spark.py": "test_spark.py",
    "features/kernels.py": "learners/test_kernel_elm.py",
    "features/receptive_fields.py": "learners/test_receptive_fields.py",
    "functional/partial.py": "completion/test_descent.py",
    "learners/_completing.py": "learners/test_partial.py",
    "learners/_decomposing.py": "learners/test_decomposition.py",
    "learners/_docs.py": "test_docstrings.py",
    "learners/_intervals.py": "readout/test_intervals.py",
    "learners/_maps.py": "learners/test_features.py",
    "learners/_ids.py": "learners/test_partial.py",
    "learners/_mixed.py": "learners/test_imputer.py",
    "learners/_passes.py": "learners/test_feature_machine.py",
    "learners/_pieces.py": "learners/test_ledger.py",
    "learners/_state.py": "learners/test_base.py",
    "learners/_tables.py": "learners/test_tabular_inputs.py",
    "learners/_targets.py": "learners/test_base.py",
    "learners/elm.py": "learners/test_base.py",
    "learners/extreme_svm.py": "learners/test_ledger.py",
    "learners/rbf.py": "learners/test_base.py",
    "linalg/dense.py": "linalg/test_driver.py",
    "linalg/frpca.py": "linalg/test_driver.py",
    "readout/cells.py": "learners/test_fastpi.py",
    "readout/contract.py": "learners/test_ledger.py",
    "readout/decompositions.py": "readout/test_solvers.py",
    "readout/factors.py": "readout/test_solvers.py",
    "readout/held_out.py": "readout/test_solvers.py",
    "readout/kernel_factors.py": "readout/test_kernel.py",
    "readout/leave_one_out.py": "readout/test_choose.py",
    "readout/pivots.py": "learners/test_kernel_elm.py",
    "readout/problem.py": "readout/test_solvers.py",
    "readout/rounds.py": "readout/test_crossing.py",
    "readout/solve.py": "readout/test_solvers.py",
    "report/page.py": "report/test_write.py",
    "report/sections.py": "report/test_write.py",
    "summaries/moments.py": "summaries/test_products.py",
    "summaries/record.py": "attacks/test_resume.py",
    "summaries/triangle.py": "summaries/test_gram.py",
}
"""Modules that are tested through another door: module → where, below tests."""


def namesake(module: str) -> Path:
    """tests/<room>/test_<module>.py; a leading underscore is not repeated."""
    path = TESTS / module
    return path.with_name(f"test_{path.stem.lstrip('_')}.py")


def test_every_module_has_tests_of_its_name_or_a_line_that_says_where():
    without = [m for m in MODULES if m not in ELSEWHERE and not namesake(m).exists()]
    assert not without, "write tests/<room>/test_<module>.py, or a line in ELSEWHERE"


def test_the_table_is_true():
    for module, where in ELSEWHERE.items():
        assert module in MODULES, f"{module} is gone"
        assert (TESTS / where).exists(), f"{where}, which tests {module}, is gone"
        assert not namesake(module).exists(), f"{module} has tests of its name: drop its line"
