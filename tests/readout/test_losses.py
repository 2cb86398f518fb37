"""Losses of rows, and the temperature at which log-loss is least."""

import numpy as np
import pytest
import scipy.special

from pinvlearn.readout.losses import (
    class_loss,
    class_temperature,
    label_loss,
    root_mean_square,
    squared_loss,
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
    np.testing.assert_allclose(class_loss(Y, outputs, ONES).mean(), loss(best, Y > 0), rtol=1e-12)


def test_classes_that_are_told_apart_leave_doubts():
    """A row of another class is as likely as half a row more that is wrong makes it."""
    for n in (20, 200):
        Y = np.where(np.arange(n) % 2 == 0, 1.0, -1.0)[:, None]
        temperature = class_temperature(Y, 0.5 * Y, np.ones(n))
        assert scipy.special.expit(1.0 / temperature) == pytest.approx(
            (n + 0.5) / (n + 1), rel=1e-5
        )


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


def test_labels_by_themselves():
    signed = RNG.standard_normal((300, 2))
    Y = np.where(RNG.random((300, 2)) < scipy.special.expit(4.0 * signed), 1.0, -1.0)
    loss = label_loss(Y, signed, ONES)
    each = [label_loss(Y[:, [j]], signed[:, [j]], ONES).mean() for j in (0, 1)]
    assert loss.mean() == pytest.approx(sum(each), rel=0.02)
    np.testing.assert_allclose(label_loss(Y, 5.0 * signed, ONES), loss, rtol=5e-3, atol=5e-3)
