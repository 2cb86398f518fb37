"""Losses of rows, and the temperature at which log-loss is least."""

import numpy as np
import pytest
import scipy.special
import scipy.stats

from pinvlearn.readout.losses import (
    CLASSES,
    LABELS,
    NUMBERS,
    SUREST,
    class_loss,
    class_temperature,
    label_loss,
    root_mean_square,
    squared_loss,
    wrong_side,
)

RNG = np.random.default_rng(0)
ONES = np.ones(300)


def drawn(scale, k=3):
    """Outputs, and classes drawn with the probabilities that they give at temperature 1/scale."""
    outputs = RNG.standard_normal((300, k))
    p = scipy.special.softmax(scale * outputs, axis=1)
    codes = np.array([RNG.choice(k, p=row) for row in p])
    return np.where(codes[:, None] == np.arange(k), 1.0, -1.0), outputs


def test_squared_loss_adds_up_targets():
    Y, P = RNG.standard_normal((2, 4, 2))
    np.testing.assert_allclose(squared_loss(Y, P, np.ones(4)), ((Y - P) ** 2).sum(axis=1))
    assert root_mean_square(Y, P, np.ones(4)) == pytest.approx(np.sqrt(((Y - P) ** 2).mean()))


def test_the_temperature_is_that_of_the_least_loss():
    Y, outputs = drawn(3.0)
    best = class_temperature(Y, outputs, ONES)
    assert best == pytest.approx(1 / 3.0, rel=0.3)

    smoothed = np.where(Y > 0, 300.5 / 301.0, 0.25 / 301.0)

    def loss(temperature, targets):
        logs = scipy.special.log_softmax(outputs / temperature, axis=1)
        return -(targets * logs).sum(axis=1).mean()

    nearby = [loss(best * factor, smoothed) for factor in (0.99, 1.0, 1.01)]
    assert np.argmin(nearby) == 1
    # the loss is told at a scale of half the digits
    np.testing.assert_allclose(class_loss(Y, outputs, ONES).mean(), loss(best, Y > 0), rtol=1e-7)


def told_apart(n, spread):
    """Two classes, all rows on their own side at margins of 1 in the mean."""
    Y = np.where(np.arange(n) % 2 == 0, 1.0, -1.0)[:, None]
    return Y, 0.5 * Y * (1.0 + spread * np.tile([1.0, 1.0, -1.0, -1.0], n // 4))[:, None]


def test_classes_that_are_told_apart_leave_doubts():
    """A row of another class is as likely as half a row more that is wrong makes it."""
    for n in (20, 200):
        Y, outputs = told_apart(n, 0.95)
        temperature = class_temperature(Y, outputs, np.ones(n))
        smoothed = (n + 0.5) / (n + 1)
        chances = scipy.special.expit(2.0 * np.abs(outputs) / temperature)
        # where the slope of the smoothed loss vanishes
        assert np.sum(np.abs(outputs) * (smoothed - chances)) == pytest.approx(0.0, abs=1e-6)


def test_classes_that_are_told_apart_clearly_leave_fewer():
    n = 40
    Y, outputs = told_apart(n, 0.3)
    (wrong,) = wrong_side(2.0 * (Y * outputs).T, np.ones(n), np.ones((n, 1)))
    # Student's of a new margin: 19.5 degrees of freedom, spread 0.2·√(41/39)
    assert wrong == pytest.approx(
        scipy.stats.t.cdf(-1.0 / (0.3 * np.sqrt(41 / 39)), 19.5), rel=1e-9
    )
    assert wrong < 0.5 / 41
    less_clear, clear = (
        class_temperature(*told_apart(n, spread), np.ones(n)) for spread in (0.5, 0.2)
    )
    assert clear < 0.8 * less_clear


def test_doubts_are_of_number_and_spread():
    ones = np.ones(50)
    by_number = 0.5 / 51
    margins = np.stack([np.ones(50), -np.ones(50), np.linspace(-3.0, 3.0, 50), np.full(50, np.nan)])
    found = wrong_side(margins, ones, ones[:, None])
    assert found.tolist() == [SUREST * by_number, by_number, by_number, by_number]
    clear = 1.0 + 0.2 * np.sin(np.arange(50))
    some = np.arange(50) % 5 > 0
    alone = wrong_side(clear[None, some], np.ones(some.sum()), ones[some, None])
    of_all = wrong_side(clear[None], some.astype(float), ones[:, None])
    np.testing.assert_allclose(of_all, alone)
    assert wrong_side(np.ones((1, 1)), np.ones(1), np.ones((1, 1))) == [0.25]


def test_doubts_of_a_class_of_few_rows_are_its_own():
    """Ninety-seven margins that are far from zero do not speak for three that are near."""
    margins = np.append(2.0 + 0.05 * np.sin(np.arange(97)), [0.1, 0.2, 0.4])
    classes = np.arange(100)[:, None] >= 97
    classes = np.hstack([~classes, classes, np.zeros((100, 1), dtype=bool)])
    far = scipy.stats.t.cdf(-(0.7 / 3) / (np.std([0.1, 0.2, 0.4]) * np.sqrt(2.0)), 1.0)
    (wrong,) = wrong_side(margins[None], np.ones(100), classes)
    by_number = 0.5 / 101
    assert wrong == pytest.approx(0.97 * SUREST * 0.5 / 98 + 0.03 * min(far, 0.125))
    assert 0.5 * by_number < wrong < by_number
    (together,) = wrong_side(margins[None], np.ones(100), np.ones((100, 1)))
    assert together < 0.1 * wrong


def test_outputs_that_tell_nothing_get_no_weight():
    Y = np.where(np.arange(40) % 2 == 0, 1.0, -1.0)[:, None]
    assert class_temperature(Y, -Y, np.ones(40)) > 100.0
    assert class_loss(Y, -Y, np.ones(40)).mean() == pytest.approx(np.log(2.0), abs=0.01)


def test_class_loss_does_not_depend_on_the_scale_of_the_outputs():
    Y, outputs = drawn(2.0)
    np.testing.assert_allclose(
        class_loss(Y, 0.2 * outputs, ONES), class_loss(Y, outputs, ONES), rtol=2e-3, atol=2e-3
    )


def test_one_column_for_two_classes_is_two_columns_of_opposite_sign():
    Y, outputs = drawn(2.0, 2)
    outputs[:, 0] = -outputs[:, 1]
    np.testing.assert_allclose(
        class_loss(Y[:, 1:], outputs[:, 1:], ONES), class_loss(Y, outputs, ONES), rtol=1e-9
    )


def test_weights_count_as_copies():
    Y, outputs = drawn(2.0)
    w = RNG.integers(1, 4, 300).astype(float)
    copies = np.repeat(np.arange(300), w.astype(int))
    one = class_temperature(Y, outputs, w)
    # as copies but for the smoothing, which counts how many rows the weights are worth
    same = class_temperature(Y[copies], outputs[copies], np.ones(len(copies)))
    assert one == pytest.approx(same, rel=0.03)
    assert class_temperature(Y, outputs, 7.0 * w) == pytest.approx(one)


@pytest.mark.parametrize(("judge", "labels"), [(CLASSES, False), (LABELS, True)])
@pytest.mark.parametrize("k", [1, 3])
def test_losses_at_a_temperature_that_is_given(judge, labels, k):
    Y, outputs = drawn(3.0)
    Y, outputs = Y[:, :k], outputs[:, :k]
    own = judge.loss_at(Y, outputs, ONES, judge.spread(Y, outputs, ONES))
    np.testing.assert_allclose(own, judge.loss(Y, outputs, ONES), rtol=1e-3, atol=1e-3)
    if labels or k == 1:
        expected = np.log1p(np.exp(-2.0 * Y * outputs / 0.7)).sum(axis=1)
    else:
        expected = -scipy.special.log_softmax(outputs / 0.7, axis=1)[Y > 0.0]
    np.testing.assert_allclose(judge.loss_at(Y, outputs, ONES, 0.7), expected, rtol=1e-9)
    np.testing.assert_array_equal(
        NUMBERS.loss_at(Y, outputs, ONES, 0.7), squared_loss(Y, outputs, ONES)
    )


def test_labels_by_themselves():
    signed = RNG.standard_normal((300, 2))
    Y = np.where(RNG.random((300, 2)) < scipy.special.expit(4.0 * signed), 1.0, -1.0)
    loss = label_loss(Y, signed, ONES)
    each = [label_loss(Y[:, [j]], signed[:, [j]], ONES).mean() for j in (0, 1)]
    assert loss.mean() == pytest.approx(sum(each), rel=0.02)
    np.testing.assert_allclose(label_loss(Y, 5.0 * signed, ONES), loss, rtol=5e-3, atol=5e-3)
