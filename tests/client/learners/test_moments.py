"""Least squares of one noisy sum: what it learns, what it says of itself, and what it refuses."""

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest

from ostraka.client.learners.bins import BinsLearner
from ostraka.client.learners.maps import make_map
from ostraka.client.learners.moments import MomentsLearner
from ostraka.client.learners.pool_check import ALARM
from ostraka.client.learners.problem import Category, OwnRecords, Problem
from ostraka.client.students.files import load_student, save_student
from ostraka.client.sums.local import LocalSums
from ostraka.client.sums.source import NoisySum
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.sums.questions import AnyQuestion, Rows
from tests.client.learners.problems import draw

LEARNER = MomentsLearner()
MUCH = 20.0
"""Of mu, so that noise hardly matters."""
LITTLE = 0.14
"""Of mu: epsilon 0.5 at delta 1e-5."""


def test_classes_labels_and_numbers_are_learned_and_saved(tmp_path: Path) -> None:
    for kind, outputs in (("classes", 2), ("classes", 4), ("labels", 3), ("number", 1)):
        drawn = draw(kind, outputs)  # type: ignore[arg-type]
        model = drawn.learn(LEARNER, MUCH).model
        file = tmp_path / f"{kind}{outputs}.skops"
        save_student(model, file)
        assert (load_student(file).predict(drawn.X) == model.predict(drawn.X)).all()
        right = model.score(drawn.X, drawn.y)
        assert right > (0.65 if kind == "labels" else 0.75), (kind, outputs, right)


def test_a_plan_spends_exactly_its_budget() -> None:
    for problem in (draw("classes", 3).problem, replace(draw("classes", 3).problem, pool=None)):
        assert LEARNER.plan(problem, 0.5).mu == pytest.approx(0.5)
        assert BinsLearner().plan(problem, 0.5).mu == pytest.approx(0.5)


def test_noise_alone_does_not_make_a_number_explode() -> None:
    drawn = draw("number", 1, private=150, features=25)
    for mu in (0.02, LITTLE):
        assert drawn.learn(LEARNER, mu).model.score(drawn.X, drawn.y) > -0.5


def test_without_a_pool_the_gram_is_bought_and_the_report_says_so() -> None:
    drawn = draw("classes", 2)
    problem = replace(drawn.problem, pool=None)
    plan = LEARNER.plan(problem, MUCH)
    assert plan.gram_sigma is not None
    assert plan.gram_sigma < LEARNER.plan(drawn.problem, 1.0).gram_sigma * 1.0 / MUCH * 1.01  # type: ignore[operator]
    fit = drawn.learn(LEARNER, MUCH, problem)
    assert fit.report.pool_gram is False
    assert "no pool" in fit.report.notes[0]
    assert fit.model.score(drawn.X, drawn.y) > 0.78
    assert not [told for told in plan.tells if "pool" in told]


def test_a_pool_that_parties_are_not_told_of_still_whitens() -> None:
    drawn = draw("classes", 2)
    secret = replace(drawn.problem, tells_pool=False)
    assert (make_map(secret).center == 0.5).all()
    assert not LEARNER.plan(secret, 1.0).tells
    assert drawn.learn(LEARNER, MUCH, secret).report.pool_gram is True


def test_a_shifted_pool_is_found_and_left_out() -> None:
    drawn = draw("classes", 2)
    assert drawn.problem.pool is not None
    shifted = replace(drawn.problem, pool=drawn.problem.pool[drawn.problem.pool[:, 0] > 0.55])
    found = drawn.learn(LEARNER, 2.0, shifted).report
    assert found.pool_gram is False
    assert found.pool_check is not None
    assert found.pool_check < ALARM
    assert "differs from" in found.notes[0]


def test_a_pool_of_the_same_records_raises_no_alarm() -> None:
    for seed in range(10):
        drawn = draw("classes", 2, seed=seed)
        for mu in (LITTLE, 2.0):
            report = drawn.learn(LEARNER, mu).report
            assert report.pool_gram is True, (seed, mu, report.pool_check)
            assert report.notes == (), "all records are there"


@dataclass
class LazySource:
    """Answers as if a party had added nothing for its records: the sum lacks them, and is told as of all."""

    source: LocalSums
    declared: float

    def ask(self, question: AnyQuestion) -> NoisySum:
        return replace(self.source.ask(question), records=self.declared)


@pytest.mark.parametrize("pooled", [True, False])
def test_a_party_that_adds_nothing_for_its_records_is_noticed(*, pooled: bool) -> None:
    drawn = draw("classes", 2)
    problem = drawn.problem if pooled else replace(drawn.problem, pool=None)
    plan = LEARNER.plan(problem, 1.0)
    others = LocalSums(drawn.rows.take(slice(1300)), plan.sigmas, np.random.default_rng(0))
    notes = LEARNER.fit(problem, plan, LazySource(others, 2000.0)).report.notes
    (told,) = [note for note in notes if "of the 2,000 records that parties declare" in note]
    assert 1150 < int(told.split()[4].replace(",", "")) < 1450, "noise has a deviation of 41 records at most"


def test_probabilities_without_own_records_are_said_to_be_uncalibrated() -> None:
    drawn = draw("classes", 2)
    fit = drawn.learn(LEARNER, MUCH, replace(drawn.problem, own=None))
    assert fit.report.calibrated_on == 0
    assert "not calibrated" in fit.report.notes[-1]
    assert drawn.learn(LEARNER, MUCH).report.calibrated_on == len(drawn.problem.own or ())


def test_own_records_carry_a_model_that_noise_drowns() -> None:
    drawn = draw("classes", 2)
    alone = drawn.learn(LEARNER, 0.005, replace(drawn.problem, own=None)).model.score(drawn.X, drawn.y)
    joined = drawn.learn(LEARNER, 0.005).model.score(drawn.X, drawn.y)
    assert joined > 0.73 > alone


def test_a_rare_class_tells_its_share_and_learns_its_order() -> None:
    drawn = draw("classes", 2, rare=0.2)
    plan = LEARNER.plan(drawn.problem, MUCH)
    assert any("share of each class" in told for told in plan.tells)
    probabilities = drawn.learn(LEARNER, MUCH).model.predict_proba(drawn.X)[:, 1]
    assert probabilities.mean() == pytest.approx(drawn.y.mean(), abs=0.1)
    assert np.corrcoef(probabilities, drawn.y)[0, 1] > 0.4


def test_constant_columns_and_fewer_records_than_features_are_learned_from_and_told() -> None:
    drawn = draw("classes", 2, private=30, features=40)
    assert drawn.problem.pool is not None
    drawn.problem.pool[:, 3] = 0.5
    drawn.rows.X[:, 3] = 0.5
    assert "fewer records (30) than features (40)" in LEARNER.plan(drawn.problem, 1.0).warnings[0]
    assert np.isfinite(drawn.learn(LEARNER, 1.0).model.predict_proba(drawn.X)).all()


def test_a_plan_that_would_clip_most_records_is_told_by_the_own_pool() -> None:
    pool = np.random.default_rng(0).integers(0, 2, (100, 5)).astype(np.float64)
    assert not LEARNER.plan(Problem("classes", 2, 5, 1000, pool), 1.0).warnings
    secret = Problem("classes", 2, 5, 1000, pool, tells_pool=False)
    assert "clip more than half" in LEARNER.plan(secret, 1.0).warnings[0]


def test_the_map_of_ranges_expects_one_value_of_each_category() -> None:
    problem = Problem("classes", 2, 5, 1000, categories=(Category(1, 4),))
    assert make_map(problem).center.tolist() == [0.5, 0.25, 0.25, 0.25, 0.25]


class WrongSource:
    """Answers with values that are not numbers, or over no records."""

    def __init__(self, value: float, records: float) -> None:
        self.value = value
        self.records = records

    def ask(self, question: AnyQuestion) -> NoisySum:
        blocks = tuple(np.full(width, self.value) for width in question.widths)
        return NoisySum(blocks, (1.0,) * len(blocks), self.records, ())


@pytest.mark.parametrize(
    ("source", "code"),
    [
        (WrongSource(float("nan"), 10.0), ErrorCode.MESSAGE_INVALID),
        (WrongSource(0.0, 0.0), ErrorCode.DATA_TOO_FEW),
    ],
)
def test_sums_that_no_model_can_be_made_of_are_refused(source: WrongSource, code: ErrorCode) -> None:
    problem = draw("classes", 2).problem
    with pytest.raises(OstrakaError) as refused:
        LEARNER.fit(problem, LEARNER.plan(problem, 1.0), source)
    assert refused.value.code is code


@pytest.mark.parametrize(
    ("pool", "own", "code"),
    [
        (np.zeros((3, 4)), None, ErrorCode.DATA_SHAPE),
        (np.full((3, 5), np.nan), None, ErrorCode.DATA_NAN),
        (None, OwnRecords(np.zeros((1, 5)), np.array([np.nan])), ErrorCode.DATA_NAN),
    ],
)
def test_own_data_of_another_shape_or_without_values_are_refused(
    pool: np.ndarray | None, own: OwnRecords | None, code: ErrorCode
) -> None:
    with pytest.raises(OstrakaError) as refused:
        Problem("classes", 2, 5, 100, pool, own)
    assert refused.value.code is code


def test_a_pool_of_equal_records_makes_no_map() -> None:
    with pytest.raises(OstrakaError) as refused:
        make_map(Problem("classes", 2, 5, 100, np.zeros((10, 5))))
    assert refused.value.code is ErrorCode.DATA_TOO_FEW


def test_a_column_with_a_few_huge_values_tells_as_much_as_in_a_range_of_its_own() -> None:
    drawn = draw("classes", 2)
    assert drawn.problem.pool is not None
    assert drawn.problem.own is not None
    # One column is as wide as its range, and the others fill a five hundredth of theirs.
    widths = np.full(drawn.X.shape[1], 0.002)
    widths[-1] = 1.0
    own = replace(drawn.problem.own, X=drawn.problem.own.X * widths)
    shrunk = replace(
        drawn,
        problem=replace(drawn.problem, pool=drawn.problem.pool * widths, own=own),
        rows=Rows(drawn.rows.codes, drawn.rows.X * widths, drawn.rows.y),
        X=drawn.X * widths,
    )
    found = [each.learn(LEARNER, 0.5).model.score(each.X, each.y) for each in (drawn, shrunk)]
    assert found[1] > found[0] - 0.03
