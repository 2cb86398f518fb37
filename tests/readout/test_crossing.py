"""Metrics learned in rounds: taken where rows that did not make them gain, and only there."""

from dataclasses import replace

import numpy as np
import pytest

from pinvlearn.features.metric import MetricColumns
from pinvlearn.readout.crossing import _Crossing, learn
from pinvlearn.readout.decoding import decoding_of
from pinvlearn.readout.losses import CLASSES, LABELS, class_loss
from pinvlearn.readout.machines import Sample, solved
from pinvlearn.readout.rounds import Branch, Optimism, Recipe, Round, made, metric_of
from pinvlearn.readout.trials import Setting, Space, Trial, View, search_plain

SPACE = Space(widths=(0.5, 1.0, 2.0), max_rounds=2)


def rotated(n=300, d=8, seed=0):
    """A function of one oblique direction, which a metric of all directions finds."""
    rng = np.random.default_rng(seed)
    Z = rng.standard_normal((n, d))
    direction = np.ones(d) / np.sqrt(d)
    return Sample(Z, np.sin(2.0 * Z @ direction)[:, None], np.ones(n))


def noise(n=200, d=5, seed=0):
    rng = np.random.default_rng(seed)
    return Sample(rng.standard_normal((n, d)), rng.standard_normal((n, 1)), np.ones(n))


@pytest.fixture(scope="module")
def outcome():
    sample = rotated()
    return sample, learn(sample, search_plain(sample, SPACE, 300).settings, SPACE, 150, 150)


@pytest.mark.sweep
def test_a_metric_that_helps_is_taken(outcome):
    _, learned = outcome
    accepted = [one for one in learned.rounds if one.accepted]
    assert len(accepted) == 1
    assert accepted[0].number > 0
    assert "full" in accepted[0].form
    assert accepted[0].gain > 2.0 * accepted[0].standard_error > 0.0
    assert learned.rounds[0].form == "plain"
    assert learned.optimism.spread >= 1.0
    assert learned.optimism.loss >= 1.0
    assert learned.optimism.wrong >= 0.0


@pytest.mark.sweep
def test_the_recipe_makes_a_better_machine_from_all_rows(outcome):
    sample, learned = outcome
    others = rotated(200, seed=1)
    errors = []
    plain = search_plain(sample, SPACE, 300).settings
    first = next(iter(plain.values()))
    as_it_is = Recipe((Branch("diagonal", (), first.kernel, first.width),), first.alpha)
    for recipe in (learned.recipe, as_it_is):
        parts = made(recipe, sample, SPACE, 150)
        views = [
            View(
                sample,
                tuple(part.coordinates(sample.Z) for part in parts),
                others,
                tuple(part.coordinates(others.Z) for part in parts),
            )
        ]
        trial = Trial(SPACE, tuple(part.kernel for part in parts), views)
        errors.append(trial.error(tuple(b.width for b in recipe.branches), recipe.alpha))
    assert errors[0] < 0.5 * errors[1]


@pytest.mark.sweep
def test_where_there_is_nothing_to_learn_the_plain_machine_stays():
    for seed in range(3):
        sample = noise(seed=seed)
        plain = search_plain(sample, SPACE, 200).settings
        learned = learn(sample, plain, SPACE, 100, 100)
        assert [one.number for one in learned.rounds if one.accepted] == [0]
        assert learned.recipe.branches[0].steps == ()
        assert learned.recipe.alpha == next(iter(plain.values())).alpha
        assert learned.optimism == Optimism()


@pytest.mark.parametrize(("gain", "goes_on"), [(-0.19, True), (-0.21, False), (0.1, True)])
def test_what_the_plain_machine_surely_beats_goes_no_further(gain, goes_on):
    assert Round(1, "rbf", "full", 1.0, 0.1, 0.5, gain, 0.1).may_win == goes_on
    assert not Round(1, "rbf", "full", 1.0, 0.1, np.inf, -np.inf, np.nan).may_win


def test_metrics_that_lose_have_one_round_and_join_no_other():
    """One of five columns counts, and a diagonal metric of it beats one of all directions."""
    rng = np.random.default_rng(0)
    Z = rng.standard_normal((300, 5))
    sample = Sample(Z, np.sign(Z[:, :1]), np.ones(300))
    learned = learn(sample, search_plain(sample, SPACE, 300).settings, SPACE, 150, 150)
    lost = {(one.kernel, one.form) for one in learned.rounds if not one.may_win}
    later = [one for one in learned.rounds if one.number > 1]
    assert lost
    assert not lost & {(one.kernel, one.form) for one in later}


class TestJudging:
    """Metrics that turn the columns that count off, and the others."""

    near, wrong = Setting("rbf", 1.0, 0.1), np.array([0.0, 1.0, 1.0])

    @pytest.fixture
    def crossing(self, monkeypatch):
        monkeypatch.setattr("pinvlearn.readout.crossing.SCOUTS", 40)
        rng = np.random.default_rng(0)
        Z = rng.standard_normal((200, 3))
        sample = Sample(Z, np.sin(Z[:, :1]), rng.uniform(0.1, 1.0, 200) * (np.arange(200) % 7))
        return _Crossing((sample.part(0, 100), sample.part(100, 200)), SPACE, 100)

    @pytest.fixture
    def base(self, crossing):
        return crossing.walked("diagonal", (), (None, None), self.near)

    def of(self, crossing, root, base):
        return crossing.walked("diagonal", (self.near,), (root, root), self.near, base)

    def test_what_scouts_find_beaten_asks_no_whole_halves(self, crossing, base):
        bad = self.of(crossing, self.wrong, base)
        assert len(bad.errors) == 2 * crossing.scouts == 100
        assert bad.machines == ()
        assert not crossing.round(1, bad, base).may_win

    def test_what_one_half_finds_beaten_asks_no_other(self, crossing, base, monkeypatch):
        asked = []
        errors_of = Trial.errors_of

        def watched(trial, number, widths, alpha):
            if len(trial.judges[number]) == 100:
                asked.append(number)
            return errors_of(trial, number, widths, alpha)

        monkeypatch.setattr(_Crossing, "scouts", 50)
        monkeypatch.setattr(Trial, "errors_of", watched)
        tied = replace(base, scouted=np.full(100, 9.0))  # so that scouts tell nothing
        bad = self.of(crossing, self.wrong, tied)
        assert asked == [0]
        assert len(bad.errors) == 100
        assert bad.error > base.error
        assert not crossing.round(1, bad, tied).may_win

    def test_what_nobody_finds_beaten_is_judged_by_all(self, crossing, base):
        """Rows have weights, which are those of the rows that judge."""
        good = self.of(crossing, 1.0 - self.wrong, base)
        assert len(good.errors) == 200
        assert crossing.round(1, good, base).gain == pytest.approx(base.error - good.error)


class TestOptimism:
    """A metric of many columns of noise tells the classes of its own rows apart, and no others."""

    near = Setting("rbf", 1.0, 0.1)

    def of(self, d, decided):
        space = replace(SPACE, widths=(1.0,), alphas=(0.1,), judge=CLASSES)
        rng = np.random.default_rng(0)
        Z = rng.standard_normal((120, d))
        Y = np.where(decided(Z, rng), 1.0, -1.0)[:, None]
        sample = Sample(Z, Y, np.ones(120))
        halves = (sample.part(0, 60), sample.part(60, 120))
        crossing = _Crossing(halves, space, 60)
        metrics = [metric_of(half, None, self.near, space, 60) for half in halves]
        roots = tuple(np.sqrt(np.diagonal(metric)) for metric in metrics)
        candidate = crossing.walked("diagonal", (self.near,), roots, self.near)
        return candidate, crossing._optimism(crossing.kept["diagonal"].trial, candidate)

    def test_the_temperature_is_larger_where_that_surely_suits_other_rows(self):
        candidate, found = self.of(300, lambda Z, rng: rng.random(len(Z)) < 0.5)
        assert found.temperature == found.spread > 1.5
        assert found.most == pytest.approx(candidate.error)

    def test_else_it_is_that_of_rows_left_out(self):
        _, found = self.of(8, lambda Z, rng: Z[:, 0] + rng.standard_normal(len(Z)) > 0.0)
        assert found.spread > 1.0
        assert found.temperature == 1.0


def test_the_distances_of_the_best_of_each_form_are_kept():
    """The rooms of others are filled again, so that there are four of them at most."""
    sample = rotated(200)
    crossing = _Crossing((sample.part(0, 100), sample.part(100, 200)), SPACE, 100)
    near, direction = Setting("rbf", 1.0, 0.1), np.ones((8, 8)) / 8.0
    base = crossing.walked("full", (), (None, None), near)
    good = crossing.walked("full", (near,), (direction, direction), near, base)
    crossing.walked("full", (near,), (np.eye(8), np.eye(8)), near, base)
    assert [crossing.kept[form].candidate for form in ("plain", "full")] == [base, good]
    assert len(crossing.free) == 1
    again = Trial(SPACE, good.kernels, crossing._views(good.roots))
    kept = crossing.kept["full"].trial
    np.testing.assert_array_equal(kept.errors((2.0,), 1.0), again.errors((2.0,), 1.0))


def test_two_together_that_scouts_find_beaten_ask_no_whole_halves(monkeypatch):
    monkeypatch.setattr("pinvlearn.readout.crossing.SCOUTS", 40)
    sample = rotated(200)
    crossing = _Crossing((sample.part(0, 100), sample.part(100, 200)), SPACE, 100)
    near, direction = Setting("rbf", 1.0, 0.1), np.ones((8, 8)) / 8.0
    base = crossing.walked("full", (), (None, None), near)
    good = crossing.walked("full", (near,), (direction, direction), near, base)
    trials = [crossing.kept[form].trial for form in ("plain", "plain")]
    worse = crossing.together((base, base), Trial.joined(trials), good)
    assert worse.machines == ()
    assert len(worse.errors) == 2 * crossing.scouts
    assert crossing.together((base, base), Trial.joined(trials), base).machines


def test_the_next_round_takes_the_machines_that_are_there(monkeypatch):
    sample = rotated(120)
    crossing = _Crossing((sample.part(0, 60), sample.part(60, 120)), SPACE, 60)
    plain = crossing.walked("full", (), (None, None), Setting("rbf", 1.0, 0.1))
    half, (machine, _) = crossing.halves[0], plain.machines
    again = metric_of(half, None, plain.setting, SPACE, 60)
    monkeypatch.setattr("pinvlearn.readout.machines.Pairs.machine", None)
    known = metric_of(half, None, plain.setting, SPACE, 60, machine)
    np.testing.assert_array_equal(known, again)


def test_no_rounds_and_too_few_rows_leave_the_plain_machine():
    sample = rotated(30)
    plain = search_plain(sample, SPACE, 30).settings
    assert learn(sample, plain, SPACE, 150, 150).rounds == ()
    sample = rotated(100)
    none = Space(max_rounds=0)
    assert learn(sample, search_plain(sample, none, 100).settings, none, 50, 50).rounds == ()


def test_a_half_is_judged_by_rows_that_made_nothing_of_it():
    """What the other half's targets are changes the errors of no metric and no machine of ours."""
    sample = rotated(200)
    changed = Sample(sample.Z, sample.Y.copy(), sample.w)
    changed.Y[100:] = np.random.default_rng(5).standard_normal((100, 1))
    setting = Setting("rbf", 1.0, 0.1)
    roots = []
    for rows in (sample, changed):
        crossing = _Crossing((rows.part(0, 100), rows.part(100, 200)), SPACE, 100)
        plain = crossing.walked("full", (), (None, None), setting)
        roots.append(crossing.next([(plain, setting, ("full",))], plain)[0].roots[0][0])
    np.testing.assert_array_equal(roots[0], roots[1])


def test_a_seed_gives_the_same_bits_and_threads_change_none(monkeypatch):
    sample = rotated(160)
    plain = search_plain(sample, SPACE, 160).settings
    found = []
    monkeypatch.setattr("pinvlearn.readout.machines.FEWEST", 1)
    for threads in (1, 3):
        monkeypatch.setattr("pinvlearn._core.threads.allowed_threads", lambda n=threads: n)
        found.append((search_plain(sample, SPACE, 160), learn(sample, plain, SPACE, 80, 80)))
    assert found[0][0] == found[1][0]
    assert found[0][1].recipe == found[1][1].recipe
    assert found[0][1].rounds == found[1][1].rounds


def test_rounds_by_log_loss_of_classes():
    rng = np.random.default_rng(0)
    Z = rng.standard_normal((300, 6))
    Y = np.where(Z @ np.ones(6) > 0.0, 1.0, -1.0)[:, None]
    space = Space(widths=(0.5, 1.0, 2.0), max_rounds=1, judge=CLASSES)
    sample = Sample(Z, Y, np.ones(300))
    learned = learn(sample, search_plain(sample, space, 300).settings, space, 150, 150)
    assert any(one.accepted and one.number > 0 for one in learned.rounds)


def test_weights_of_zero_gradients_do_not_count():
    sample = rotated(100)
    setting = Setting("rbf", 1.0, 0.1)
    M = metric_of(sample, None, setting, SPACE, 40)
    assert M.shape == (8, 8)
    assert np.trace(M) == pytest.approx(8.0)
    assert np.linalg.eigvalsh(M)[-1] > 4.0


def test_rounds_go_on_as_long_as_each_surely_gains():
    """A chequered square beside columns of noise: every round finds a little more of it."""
    rng = np.random.default_rng(0)
    Z = np.hstack([rng.uniform(0.0, 3.0, (500, 2)), rng.standard_normal((500, 4))])
    Y = np.where(np.floor(Z[:, :2]).sum(axis=1) % 2.0, 1.0, -1.0)[:, None]
    sample = Sample(Z, Y, np.ones(500))
    space = Space(kernels=("laplacian",), forms=("diagonal",), max_rounds=6, judge=CLASSES)
    learned = learn(sample, search_plain(sample, space, 500).settings, space, 250, 250)
    errors = [one.error for one in learned.rounds if one.form == "diagonal"]
    assert len(errors) == 6
    assert errors == sorted(errors, reverse=True)


def test_three_rounds_are_enough_where_the_third_gains_little(outcome):
    sample, _ = outcome
    space = replace(SPACE, kernels=("rbf",), forms=("full",), max_rounds=10)
    learned = learn(sample, search_plain(sample, space, 300).settings, space, 150, 150)
    assert max(one.number for one in learned.rounds) <= 4


def steps_of_a_king(n=300, seed=0):
    """How many steps two squares of a board are apart: far ones are rare, all lie in a row."""
    Z = np.random.default_rng(seed).integers(0, 8, (n, 4)).astype(float)
    steps = np.abs(Z[:, :2] - Z[:, 2:]).max(axis=1)
    Y = np.where(steps[:, None] == np.arange(8), 1.0, -1.0)
    return Sample((Z - 3.5) / 2.3, Y, np.ones(n))


def test_the_ridge_suits_outputs_that_will_be_decoded():
    sample = steps_of_a_king()
    space = Space(kernels=("laplacian",), forms=("full",), max_rounds=1, judge=CLASSES)
    plain = search_plain(sample, space, 300).settings
    before, after = (
        learn(sample, plain, replace(space, decoded=decoded), 150, 150).recipe
        for decoded in (False, True)
    )
    assert after.branches == before.branches
    assert after.alpha < before.alpha
    # rows of neither: decoded, they are told apart better
    others, more = steps_of_a_king(2000, seed=1), steps_of_a_king(1000, seed=2)
    errors = []
    for recipe in (before, after):
        columns = MetricColumns.around(made(recipe, sample, space, 150), sample.Z)
        machine = solved(columns(sample.Z), sample, recipe.alpha)
        F, G = (columns(rows.Z) @ machine.coef + machine.intercept for rows in (others, more))
        decoded = decoding_of(more.Y, G, more.w)(F)
        errors.append(class_loss(others.Y, decoded, others.w).mean())
    assert errors[1] < errors[0]


def test_a_ridge_that_was_given_stays():
    sample = steps_of_a_king()
    space = Space(kernels=("laplacian",), alphas=(1.0,), max_rounds=1, judge=CLASSES, decoded=True)
    plain = search_plain(sample, space, 300).settings
    assert learn(sample, plain, space, 150, 150).recipe.alpha == 1.0


def test_rows_of_labels_are_wrong_where_any_label_is():
    Y = np.array([[1.0, 1.0], [1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0]])
    outputs = np.array([[0.5, 0.9], [0.8, 0.3], [-0.2, 0.1], [-0.3, -0.2]])
    rows = Sample(np.zeros((4, 1)), Y, np.ones(4))
    labels = _Crossing((rows, rows), replace(SPACE, judge=LABELS), 4)
    assert labels._judged(rows, outputs)[2] == 0.25
    classes = _Crossing((rows, rows), replace(SPACE, judge=CLASSES), 4)
    assert classes._judged(rows, outputs)[2] == 0.5
