"""The plots show what they are given; what they cannot show they refuse."""

import numpy as np
import pytest
import scipy.sparse
from matplotlib import pyplot as plt
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from pinvlearn import (
    AlphaPathDisplay,
    ConvergenceDisplay,
    FastPIClassifier,
    FeatureMachineRegressor,
    FlatGradient,
    PinvRegressor,
    RBFNetworkRegressor,
    RoundsDisplay,
    SizePathDisplay,
    Tolerance,
    range_basis,
)

ERRORS = np.array([100.0, 10.0, 3.0, 2.5, 2.4, 0.05])


@pytest.fixture(autouse=True)
def _no_windows():
    plt.switch_backend("agg")
    yield
    plt.close("all")


@pytest.fixture
def fitted():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 5))
    return PinvRegressor(alpha=[0.01, 1.0, 100.0]).fit(X, X @ np.ones(5) + rng.standard_normal(60))


def test_solid_until_the_first_stop_then_dashed() -> None:
    display = ConvergenceDisplay.from_basis(ERRORS, stops={"tolerance": 5, "gradient": 3})
    solid, dashed = display.lines_
    np.testing.assert_array_equal(solid.get_xdata(), [0, 1, 2, 3])
    np.testing.assert_array_equal(solid.get_ydata(), ERRORS[:4])
    np.testing.assert_array_equal(dashed.get_xdata(), [3, 4, 5])
    assert (solid.get_linestyle(), dashed.get_linestyle()) == ("-", "--")
    assert solid.get_color() == dashed.get_color()
    assert display.ax_.get_yscale() == "log"
    assert display.figure_ is display.ax_.figure


def test_each_stop_is_marked_where_it_stopped() -> None:
    display = ConvergenceDisplay.from_basis(ERRORS, stops={"tolerance": 5, "gradient": 3})
    marks = {name: mark.get_xydata().tolist() for name, mark in display.stops_.items()}
    assert marks == {"tolerance": [[5, 0.05]], "gradient": [[3, 2.5]]}
    legend = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert legend == ["tolerance: 5 columns", "gradient: 3 columns"]


def test_without_stops_all_is_solid_and_the_axes_are_ours() -> None:
    _, ax = plt.subplots()
    display = ConvergenceDisplay(ERRORS).plot(ax, name="letter", color="red")
    (line,) = display.lines_
    assert display.ax_ is ax
    assert (line.get_label(), line.get_color(), len(line.get_xdata())) == ("letter", "red", 6)


def test_zero_error_stays_on_the_log_axis() -> None:
    display = ConvergenceDisplay.from_basis([5.0, 1.0, 0.0], stops={"exact": 2})
    assert display.stops_["exact"].get_ydata()[0] == 1.0


def test_real_basis_of_both_rules() -> None:
    rng = np.random.default_rng(0)
    A = rng.standard_normal((120, 30)) @ rng.standard_normal((30, 80))
    A += 0.03 * rng.standard_normal(A.shape)
    whole = range_basis(A, Tolerance(), rng=1)
    early = range_basis(A, FlatGradient(tau=1.0), rng=1)
    columns = early.Q.shape[1]
    assert 0 < columns < whole.Q.shape[1]
    display = ConvergenceDisplay.from_basis(whole, stops={"gradient": columns})
    np.testing.assert_array_equal(display.lines_[0].get_ydata(), early.errors)


@pytest.mark.parametrize("errors", [[], [[1.0, 2.0]], 3.0])
def test_errors_must_be_a_sequence(errors) -> None:
    with pytest.raises(ValueError, match="one error per number of columns"):
        ConvergenceDisplay(errors)


def test_stop_beyond_the_basis() -> None:
    with pytest.raises(ValueError, match="'late' is at column 9, .* columns 0 to 5"):
        ConvergenceDisplay(ERRORS, stops={"late": 9})


def test_alpha_path_marks_the_chosen(fitted) -> None:
    display = AlphaPathDisplay.from_estimator(fitted)
    np.testing.assert_array_equal(display.line_.get_xdata(), [0.01, 1.0, 100.0])
    np.testing.assert_array_equal(display.line_.get_ydata(), fitted.loo_scores_)
    chosen = display.chosen_.get_xydata()[0]
    np.testing.assert_array_equal(chosen, [fitted.alpha_, fitted.loo_scores_.max()])
    assert display.ax_.get_xscale() == "log"
    assert "squared error" in display.ax_.get_ylabel()


def test_alpha_path_of_a_pipeline() -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 3))
    pipeline = make_pipeline(StandardScaler(), PinvRegressor()).fit(X, X[:, 0])
    display = AlphaPathDisplay.from_estimator(pipeline)
    assert display.alpha == pipeline[-1].alpha_


def test_alpha_path_at_the_chosen_rank() -> None:
    rng = np.random.default_rng(0)
    X = scipy.sparse.random_array((80, 20), density=0.3, rng=rng, format="csr")
    model = FastPIClassifier().fit(X, (X @ rng.standard_normal((20, 4)) > 0).astype(int))
    display = AlphaPathDisplay.from_estimator(model)
    chosen = display.chosen_.get_xydata()[0]
    np.testing.assert_array_equal(chosen, [model.alpha_, model.loo_scores_.max()])
    assert display.ax_.get_ylabel() == "leave-one-out precision"


def test_alpha_zero_is_part_of_the_path() -> None:
    display = AlphaPathDisplay([1.0, 0.0, 0.1], [0.5, 0.9, 0.7], alpha=0.0).plot()
    assert display.ax_.get_xscale() == "symlog"
    np.testing.assert_array_equal(display.line_.get_ydata(), [0.9, 0.7, 0.5])
    assert display.chosen_.get_ydata()[0] == 0.9


def test_no_path_no_plot() -> None:
    X = np.arange(20.0).reshape(-1, 1)
    with pytest.raises(ValueError, match="no leave-one-out scores"):
        AlphaPathDisplay.from_estimator(PinvRegressor(loo_scoring=None).fit(X, X[:, 0]))
    with pytest.raises(ValueError, match="one score per alpha"):
        AlphaPathDisplay([1.0, 2.0], [1.0], alpha=1.0)


def test_size_path_marks_the_chosen() -> None:
    x = np.linspace(0.0, 6.0, 60)[:, None]
    model = RBFNetworkRegressor("loo", max_kernels=15, alpha=[1e-6, 1e-2], random_state=0)
    model.fit(x, np.sin(x[:, 0]))
    display = SizePathDisplay.from_estimator(make_pipeline(model))
    assert len(display.lines_) == 2
    for line, scores in zip(display.lines_, model.size_scores_, strict=True):
        np.testing.assert_array_equal(line.get_xdata(), model.sizes_)
        np.testing.assert_array_equal(line.get_ydata(), scores)
    at = model.size_scores_[:, model.n_kernels_ - 1].max()
    np.testing.assert_array_equal(display.chosen_.get_xydata()[0], [model.n_kernels_, at])
    assert display.ax_.get_xlabel() == "kernels"
    assert "squared error" in display.ax_.get_ylabel()


def test_size_path_of_a_rank() -> None:
    X = np.random.default_rng(0).standard_normal((40, 3))
    display = SizePathDisplay.from_estimator(PinvRegressor(rank="loo", alpha=0.0).fit(X, X[:, 0]))
    assert display.ax_.get_xlabel() == "directions"


def test_no_sizes_no_plot() -> None:
    X = np.arange(20.0).reshape(-1, 1)
    with pytest.raises(ValueError, match="did not choose a size"):
        SizePathDisplay.from_estimator(PinvRegressor().fit(X, X[:, 0]))
    with pytest.raises(ValueError, match="one score per size"):
        SizePathDisplay([1, 2], [1.0], size=1)


def test_rounds_show_their_gains_and_the_one_taken() -> None:
    X = np.random.default_rng(0).standard_normal((120, 4))
    model = FeatureMachineRegressor(max_rounds=1, random_state=0).fit(X, np.sin(2 * X[:, 1]))
    display = RoundsDisplay.from_estimator(make_pipeline(model))
    gains = [one.gain for one in model.rounds_]
    np.testing.assert_array_equal(display.bars_.lines[0].get_xdata(), gains)
    (taken,) = [row for row, one in enumerate(model.rounds_) if one.accepted]
    assert display.accepted_.get_xydata().tolist() == [[gains[taken], taken]]
    assert display.ax_.get_yticklabels()[0].get_text().startswith("plain")
    assert display.figure_ is display.ax_.figure


def test_no_rounds_no_plot(fitted) -> None:
    with pytest.raises(ValueError, match="PinvRegressor learns no metric"):
        RoundsDisplay.from_estimator(fitted)
    with pytest.raises(ValueError, match="max_rounds=0"):
        RoundsDisplay(())
