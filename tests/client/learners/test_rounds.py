"""Boosting and gradients: what rounds learn, and what is left of them where they end early."""

from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import pytest

from ostraka.client.learners.boost import BoostLearner
from ostraka.client.learners.fit import Learner
from ostraka.client.learners.gradients import FEW_ROUNDS, MANY_ROUNDS, GradientsLearner, count_rounds
from ostraka.client.learners.moments import MomentsLearner
from ostraka.client.learners.plan_notes import TOLD_MODELS
from ostraka.client.learners.problem import Category, OwnRecords, Problem
from ostraka.client.learners.rounds import Rounds
from ostraka.client.students.files import load_student, save_student
from ostraka.client.sums.local import LocalSums
from ostraka.client.sums.source import NoisySum
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.sums.codes import ClassCodes
from ostraka.common.sums.feature_map import FeatureMap
from ostraka.common.sums.questions import AnyQuestion, MomentsQuestion, Rows
from ostraka.common.sums.wire import question_bytes
from tests.client.learners.problems import EndingSource, draw

BOTH = (BoostLearner(), GradientsLearner())
MUCH = 20.0
"""Of mu, so that noise hardly matters."""


@pytest.mark.parametrize("learner", BOTH)
def test_classes_labels_and_numbers_are_learned_and_saved(learner: Learner, tmp_path: Path) -> None:
    for kind, outputs in (("classes", 2), ("classes", 3), ("labels", 2), ("number", 1)):
        drawn = draw(kind, outputs, features=4)  # type: ignore[arg-type]
        model = drawn.learn(learner, MUCH).model
        file = tmp_path / f"{kind}{outputs}.skops"
        save_student(model, file)
        assert (load_student(file).predict(drawn.X) == model.predict(drawn.X)).all()
        right = model.score(drawn.X, drawn.y)
        assert right > (0.55 if kind == "labels" else 0.7), (kind, outputs, right)


@pytest.mark.parametrize("learner", BOTH)
def test_a_plan_spends_exactly_its_budget(learner: Learner) -> None:
    assert learner.plan(draw("classes", 3).problem, 0.5).mu == pytest.approx(0.5)


@pytest.mark.parametrize("learner", BOTH)
def test_a_source_that_stops_leaves_the_model_so_far_and_the_report_says_so(learner: Learner) -> None:
    drawn = draw("classes", 2, features=4)
    plan = learner.plan(drawn.problem, MUCH)
    fit = learner.fit(drawn.problem, plan, EndingSource(drawn.source(plan), 8))
    assert (fit.report.rounds, fit.report.rounds_planned) == (8, plan.rounds)
    assert f"rounds ended after 8 of {plan.rounds}" in fit.report.notes[0]
    assert "The budget pays for no further round" in fit.report.notes[0]
    assert fit.model.score(drawn.X, drawn.y) > 0.7


@pytest.mark.parametrize(
    "code", [ErrorCode.BATCH_FORGOTTEN, ErrorCode.GRANT_EXPIRED, ErrorCode.SESSION_ENDED]
)
def test_a_session_that_is_over_leaves_the_rounds_so_far(code: ErrorCode) -> None:
    drawn = draw("classes", 2, features=4, private=10)
    source = LocalSums(drawn.rows, (1.0,), np.random.default_rng(0))
    rounds = Rounds(EndingSource(source, 1, code))
    question = MomentsQuestion(FeatureMap(np.full(4, 0.5), 1.0), ClassCodes(np.eye(2)))
    assert rounds.ask(question) is not None
    assert rounds.ask(question) is None
    assert rounds.answered == 1


@pytest.mark.parametrize("learner", BOTH)
def test_what_needs_somebody_ends_no_training(learner: Learner) -> None:
    drawn = draw("classes", 2, features=4)
    plan = learner.plan(drawn.problem, MUCH)
    for code in (ErrorCode.SERVER_UNREACHABLE, ErrorCode.QUORUM_LOST, ErrorCode.RUN_MISMATCH):
        with pytest.raises(OstrakaError) as raised:
            learner.fit(drawn.problem, plan, EndingSource(drawn.source(plan), 2, code))
        assert raised.value.code is code, "asked again, the source has the two answers and goes on"


@pytest.mark.parametrize("learner", BOTH)
def test_a_source_that_answers_nothing_makes_no_model(learner: Learner) -> None:
    drawn = draw("classes", 2)
    plan = learner.plan(drawn.problem, 1.0)
    with pytest.raises(OstrakaError) as refused:
        learner.fit(drawn.problem, plan, EndingSource(drawn.source(plan), 0))
    assert refused.value.code is ErrorCode.BUDGET_TOO_SMALL


def test_boosting_needs_records_to_count_bins_by() -> None:
    with pytest.raises(OstrakaError) as refused:
        BoostLearner().plan(Problem("classes", 2, 3, 1000), 1.0)
    assert refused.value.code is ErrorCode.DATA_TOO_FEW


def test_boosting_of_a_pool_that_shows_no_difference_is_refused() -> None:
    with pytest.raises(OstrakaError) as refused:
        BoostLearner().plan(Problem("classes", 2, 3, 1000, np.ones((10, 3))), 1.0)
    assert refused.value.code is ErrorCode.DATA_TOO_FEW
    assert "different records" in refused.value.message


@pytest.mark.parametrize("learner", [*BOTH, MomentsLearner()])
def test_every_plan_tells_of_a_missing_pool_and_of_fewer_records_than_features(learner: Learner) -> None:
    problem = draw("classes", 2, private=30, features=40).problem
    no_pool, few = learner.plan(replace(problem, pool=None), 1.0).warnings
    assert "There is no pool" in no_pool
    assert "fewer records (30) than features (40)" in few


@pytest.mark.parametrize("learner", BOTH)
def test_a_plan_of_rounds_says_that_own_records_have_a_part_in_its_models(learner: Learner) -> None:
    problem = draw("classes", 2).problem
    for known in (problem, replace(problem, own=None), replace(problem, tells_pool=False)):
        assert TOLD_MODELS in learner.plan(known, 1.0).tells
    nothing = replace(problem, own=None, pool=None)
    assert GradientsLearner().plan(nothing, 1.0).tells == ()


def test_a_category_is_asked_about_at_once_and_what_bends_is_learned() -> None:
    random = np.random.default_rng(0)
    values = random.integers(0, 4, 3000)
    number = random.random(3000)
    X = np.hstack([number[:, None], np.eye(4)[values], np.zeros((3000, 1))])
    y = ((np.abs(number - 0.5) < 0.3) | (values == 3)).astype(np.int64)
    problem = Problem(
        "classes", 2, 6, 2500, X[:200], OwnRecords(X[200:260], y[200:260]), categories=(Category(1, 4),)
    )
    plan = BoostLearner().plan(problem, MUCH)
    assert plan.rounds == 3 * 2  # the constant column is not asked about
    source = LocalSums(Rows(np.zeros((2500, 0), np.float32), X[500:], y[500:]), plan.sigmas, random)
    model = BoostLearner().fit(problem, plan, source).model
    assert model.score(X[500:], y[500:]) > 0.9


def test_own_records_pay_for_more_rounds() -> None:
    problem = draw("classes", 3).problem
    alone = replace(problem, own=None)
    assert count_rounds(alone, 0.26) == FEW_ROUNDS
    assert count_rounds(alone, 0.5) == MANY_ROUNDS
    assert count_rounds(problem, 0.14) == MANY_ROUNDS


def test_own_gradients_carry_a_model_that_noise_drowns() -> None:
    drawn = draw("number", 1)
    alone = drawn.learn(GradientsLearner(), 0.003, replace(drawn.problem, own=None))
    joined = drawn.learn(GradientsLearner(), 0.003)
    assert joined.model.score(drawn.X, drawn.y) > 0.3 > alone.model.score(drawn.X, drawn.y)


@dataclass
class NotingSource:
    """Keeps every question."""

    source: LocalSums
    asked: list[bytes] = field(default_factory=list)

    def ask(self, question: AnyQuestion) -> NoisySum:
        self.asked.append(question_bytes(question))
        return self.source.ask(question)


@pytest.mark.parametrize("learner", [*BOTH, MomentsLearner()])
def test_questions_tell_nothing_of_a_pool_that_parties_may_not_be_told_of(learner: Learner) -> None:
    drawn = draw("classes", 2, private=200)
    assert drawn.problem.pool is not None
    asked = []
    for pool in (drawn.problem.pool, drawn.problem.pool**3):
        problem = replace(drawn.problem, pool=pool, tells_pool=False)
        plan = learner.plan(problem, 1.0)
        source = NotingSource(drawn.source(plan))
        learner.fit(problem, plan, source)
        asked.append(source.asked)
    assert asked[0] == asked[1]
