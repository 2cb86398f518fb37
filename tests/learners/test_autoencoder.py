"""Autoencoders by one solve."""

import numpy as np
import pytest
import scipy.sparse

import pinvlearn
from pinvlearn import ELMAutoEncoder
from pinvlearn.features.random_layer import draw_layer

RNG = np.random.default_rng(0)


X = RNG.standard_normal((80, 3)) @ RNG.standard_normal((3, 6)) + 0.1 * RNG.standard_normal((80, 6))


class TestAutoEncoder:
    def hidden(self, model):
        """The random layer, drawn again as fit draws it."""
        stream = pinvlearn._validation.generator(model.random_state).spawn(2)[0]
        return draw_layer(
            6, model.n_hidden, activation=model.activation, weights="orthogonal", rng=stream
        )

    def test_ridge_is_the_least_squares_solution(self):
        model = ELMAutoEncoder(4, alpha=0.3, random_state=0).fit(X)
        A = self.hidden(model)(X)
        A, T = A - A.mean(axis=0), X - X.mean(axis=0)
        expected = np.linalg.solve(A.T @ A + 0.3 * np.eye(4), A.T @ T)
        np.testing.assert_allclose(model.coef_, expected, rtol=1e-9)
        error = np.square(A @ expected - T).sum() / np.square(T).sum()
        assert model.reconstruction_error_ == pytest.approx(error, rel=1e-9)
        assert model.alpha_ == 0.3

    def test_l1_meets_the_conditions_of_its_optimum(self):
        alpha = 3.0
        model = ELMAutoEncoder(4, penalty="l1", alpha=alpha, max_iter=5000, random_state=0).fit(X)
        A = self.hidden(model)(X)
        A, T = A - A.mean(axis=0), X - X.mean(axis=0)
        slope = 2.0 * A.T @ (T - A @ model.coef_)
        # The gap is at most 1e-4‖T‖², and a slope off by d costs d² / 4L of the objective.
        largest = np.linalg.norm(A, 2) ** 2
        slack = np.sqrt(4 * largest * 1e-4 * np.square(T).sum())
        assert (np.abs(slope) <= alpha + slack).all()
        assert (model.coef_ == 0.0).any()
        assert model.n_iter_ > 1
        assert "fista" in str(model.report_)

    @pytest.mark.parametrize("penalty", ["l2", "l1"])
    def test_wide_layers_are_summed_in_one_triangle(self, penalty, monkeypatch):
        narrow = ELMAutoEncoder(9, penalty=penalty, alpha=0.1, random_state=0).fit(X)
        monkeypatch.setattr("pinvlearn.summaries.block.WIDE", 5)
        wide = ELMAutoEncoder(9, penalty=penalty, alpha=0.1, random_state=0).fit(X)
        np.testing.assert_allclose(wide.coef_, narrow.coef_, atol=1e-9)

    @pytest.mark.parametrize("penalty", ["l2", "l1"])
    def test_more_penalty_rebuilds_less(self, penalty):
        errors = [
            ELMAutoEncoder(4, penalty=penalty, alpha=alpha, random_state=0, max_iter=500)
            .fit(X)
            .reconstruction_error_
            for alpha in (0.01, 1.0, 100.0)
        ]
        assert errors == sorted(errors)
        assert 0.0 < errors[0] < 1.0

    def test_a_linear_layer_of_full_width_rebuilds_everything(self):
        model = ELMAutoEncoder(6, activation="identity", alpha=0.0, random_state=0).fit(X)
        assert model.reconstruction_error_ < 1e-12

    @pytest.mark.parametrize("penalty", ["l2", "l1"])
    def test_sums_fill_the_range(self, penalty):
        model = ELMAutoEncoder(4, penalty=penalty, activation="identity", random_state=0).fit(X)
        features = model.transform(X)
        np.testing.assert_allclose(features.min(axis=0), -1.0, atol=1e-12)
        np.testing.assert_allclose(features.max(axis=0), 1.0, atol=1e-12)
        # An affine image of X βᵀ.
        sums = X @ model.coef_.T
        for j in range(4):
            assert abs(np.corrcoef(features[:, j], sums[:, j])[0, 1] - 1.0) < 1e-12

    def test_units_without_weights_are_zero(self):
        model = ELMAutoEncoder(4, penalty="l1", alpha=1e6, activation="identity").fit(X)
        assert not model.coef_.any()
        assert not model.transform(X).any()
        assert model.reconstruction_error_ == pytest.approx(1.0)

    def test_constant_rows(self):
        model = ELMAutoEncoder(4, random_state=0).fit(np.ones((10, 3)))
        assert np.isfinite(model.transform(np.ones((2, 3)))).all()
        assert model.reconstruction_error_ == 0.0

    def test_fewer_rows_than_units_and_one_column(self):
        assert ELMAutoEncoder(20, random_state=0).fit_transform(X[:5]).shape == (5, 20)
        assert ELMAutoEncoder(7, random_state=0).fit_transform(X[:, :1]).shape == (80, 7)

    def test_sparse_rows_give_the_same_layer(self):
        S = scipy.sparse.csr_array(np.where(np.abs(X) > 1.0, X, 0.0))
        one, two = (ELMAutoEncoder(4, random_state=0).fit(A) for A in (S, S.toarray()))
        np.testing.assert_allclose(one.transform(S), two.transform(S.toarray()), atol=1e-8)

    def test_single_precision_in_and_out(self):
        model = ELMAutoEncoder(4, random_state=0).fit(X.astype(np.float32))
        assert model.transform(X.astype(np.float32)).dtype == np.float32
        assert model.coef_.dtype == np.float64

    @pytest.mark.parametrize("n_jobs", [1, 2])
    def test_threads_do_not_change_it(self, n_jobs):
        rows = RNG.standard_normal((3, 5000)).T
        model = ELMAutoEncoder(4, n_jobs=n_jobs, random_state=0).fit(rows)
        alone = ELMAutoEncoder(4, n_jobs=1, random_state=0).fit(rows)
        np.testing.assert_array_equal(model.coef_, alone.coef_)

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"penalty": "ridge"}, "penalty='ridge'.*'l2', 'l1'"),
            ({"n_hidden": 0}, "n_hidden=0"),
            ({"alpha": -1.0}, "alpha=-1.0"),
            ({"alpha": [0.1, 1.0], "penalty": "l1"}, 'path of alpha belongs to penalty="l2"'),
            ({"max_iter": 0}, "max_iter=0"),
            ({"activation": "swish"}, "activation='swish'"),
            ({"scale": -1.0}, "scale=-1.0"),
        ],
    )
    def test_bad_parameters(self, options, message):
        model = ELMAutoEncoder(4).fit(X)
        before = model.coef_
        with pytest.raises(ValueError, match=message):
            model.set_params(**options).fit(X)
        assert model.coef_ is before
