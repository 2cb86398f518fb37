"""Ridge leverage scores: exact with all rows as landmarks, and bounded work with fewer."""

import numpy as np
import pytest

from pinvlearn.linalg.kernel import as_kernel_matrix
from pinvlearn.linalg.leverage import LANDMARKS, ridge_leverage


class TestLeverage:
    @pytest.mark.parametrize("n", [1, 2, 7, 60])
    def test_with_all_rows_as_landmarks_it_is_exact(self, n):
        x = np.random.default_rng(0).standard_normal(n)
        K = np.exp(-(np.subtract.outer(x, x) ** 2))
        values = np.linalg.eigvalsh(K)[::-1]
        half = max(n // 2, 1)
        ridge = max(values[half:].sum() / half, 1e-10 * values[0])
        expected = np.diagonal(K @ np.linalg.inv(K + ridge * np.eye(n)))
        found = ridge_leverage(as_kernel_matrix(K), n, np.random.default_rng(1))
        np.testing.assert_allclose(found, expected, rtol=1e-4)

    def test_few_centres_have_a_large_ridge(self):
        x = np.random.default_rng(0).standard_normal(60)
        K = as_kernel_matrix(np.exp(-(np.subtract.outer(x, x) ** 2)))
        few, many = (ridge_leverage(K, k, np.random.default_rng(1)).sum() for k in (2, 5))
        assert few < many < 8

    def test_landmarks_bound_the_work(self):
        asked = []

        class Watched:
            shape = (LANDMARKS + 500,) * 2

            def diagonal(self):
                return np.ones(self.shape[0])

            def __call__(self, rows, columns):
                asked.append(len(columns))
                return np.equal.outer(rows, columns).astype(float)

        scores = ridge_leverage(Watched(), 700, np.random.default_rng(0))
        assert set(asked) == {LANDMARKS}
        assert ((scores >= 0.0) & (scores <= 1.0)).all()
