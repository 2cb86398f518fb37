"""Gibbs sampling: the same bits on any number of threads, and draws of what they claim."""

import numpy as np

from matrices import KNOWN_SHAPE as SHAPE
from matrices import known_entries as problem
from pinvlearn.completion import gibbs
from pinvlearn.completion.als import both_ways, row_runner


def test_gibbs_gives_the_same_bits_on_any_number_of_threads():
    _, rows, cols, values = problem()
    chains = []
    for count in (1, 3):
        chains.append(
            gibbs.gibbs(
                both_ways(rows, cols, values, SHAPE), 3, biases=True, sweeps=12, burn_in=2,
                n_samples=5, rng=np.random.default_rng(0), run=row_runner(count),
            )
        )  # fmt: skip
    np.testing.assert_array_equal(chains[0].rows, chains[1].rows)
    np.testing.assert_array_equal(chains[0].cols, chains[1].cols)
    assert len(chains[0].priors) == len(chains[0].rows) == 5
    assert len(chains[0].rmse) == 12


def test_hyperparameters_follow_their_posterior():
    rng = np.random.default_rng(0)
    F = rng.standard_normal((5000, 3)) @ np.diag([1.0, 0.5, 2.0]) + [1.0, 0.0, -1.0]
    means, precisions = zip(*(gibbs.hyperparameters(F, rng) for _ in range(50)), strict=True)
    np.testing.assert_allclose(np.mean(means, axis=0), [1.0, 0.0, -1.0], atol=0.1)
    np.testing.assert_allclose(np.diag(np.mean(precisions, axis=0)), [1.0, 4.0, 0.25], rtol=0.1)
