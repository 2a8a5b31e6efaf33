from collections.abc import Sequence
from dataclasses import replace
from io import StringIO
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from rich.console import Console
from sklearn.datasets import load_digits

from benchmarks.heterogeneity import cells as module
from benchmarks.heterogeneity import paper, teachers
from benchmarks.heterogeneity.cells import Cell, as_json, cells
from benchmarks.heterogeneity.data import Records, Split
from benchmarks.heterogeneity.measures import GAMMAS, QUERIES, Measure, Setting, measure, settings
from benchmarks.heterogeneity.networks import Votes, answers
from benchmarks.heterogeneity.plot import LINES, plot
from benchmarks.heterogeneity.tables import tables
from benchmarks.heterogeneity.teachers import (
    SIMILARITIES,
    TEACHERS,
    TRAININGS,
    Training,
    shards,
    training_rdp,
)
from benchmarks.heterogeneity.together import DP_TTAC, TTAC, Lessons, learn
from benchmarks.heterogeneity.voting import answer, costs, histograms, plurality_accuracy
from ostraka.common.mechanism import Confident, LnMax
from ostraka.common.privacy import ORDERS, epsilon
from ostraka.guardian.accounting import lnmax_rdp
from ostraka.services.teachers.joint_training import first_parameters

NOTHING = np.zeros(len(ORDERS))
MEASURE = Measure(answered=12.0, labels=0.5, students=(), worst_case=3.0, exact=2.0)


def digits() -> Split:
    X, y = load_digits(return_X_y=True)
    records = Records((X.reshape(-1, 8, 8) / 16).astype(np.float32), y.astype(np.int64))
    return Split(*(records.rows(slice(*part)) for part in ((0, 1000), (1000, 1600), (1600, None))))


def test_a_tied_plurality_is_right_in_proportion() -> None:
    votes = np.array([[0, 1], [1, 1], [2, 1]], dtype=np.uint8)
    counts = histograms(votes, 3)
    assert counts.tolist() == [[1, 1, 1], [0, 3, 0]]
    assert plurality_accuracy(counts, np.array([2, 1])) == pytest.approx((1 / 3 + 1) / 2)


def test_answers_without_much_noise_are_the_plurality_that_passes_the_check() -> None:
    counts = np.array([[9.0, 1, 0], [3, 3, 4]])
    random = np.random.default_rng(0)
    assert answer(counts, LnMax(gamma=1e6), random).labels.tolist() == [0, 2]
    checked = answer(counts, Confident(sigma1=1e-3, sigma2=1e-3, threshold=5.0), random)
    assert checked.answered.tolist() == [True, False]


def test_costs_are_those_of_every_query_whatever_the_order_of_its_classes() -> None:
    counts = np.array([[[9.0, 1, 0], [0, 9, 1]], [[3, 3, 4], [3, 3, 4]]])
    for bound in ("worst_case", "exact"):
        found = costs(counts, np.ones((2, 2), dtype=bool), LnMax(gamma=0.3), bound)
        for run, value in zip(counts, found, strict=True):
            rdp = lnmax_rdp(run, 0.3, ORDERS, bound=bound).sum(axis=0)
            assert value == pytest.approx(epsilon(rdp.tolist(), list(ORDERS), 1e-5))


def test_an_unanswered_query_costs_its_check_alone() -> None:
    counts = np.tile([9.0, 1, 0], (2, 20, 1))
    mechanism = Confident(sigma1=20.0, sigma2=10.0, threshold=5.0)
    asked, given = costs(counts, np.repeat([[False], [True]], 20, axis=1), mechanism, "worst_case")
    assert 0 < asked < given


def test_teachers_hold_equally_many_records_however_alike() -> None:
    private = digits().private
    for similarity in SIMILARITIES:
        held = shards(private, similarity)
        assert [len(part.y) for part in held] == [100] * TEACHERS
    assert max(len(np.unique(part.y)) for part in shards(private, 0)) <= 3
    assert min(len(np.unique(part.y)) for part in shards(private, 100)) == 10


def test_an_ensemble_is_trained_and_measured_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trained: list[int] = []

    def everyone_says_one(held: Sequence[Records], X: NDArray[np.float32]) -> Votes:
        trained.append(len(held))
        return np.ones((len(held), len(X)), dtype=np.uint8)

    monkeypatch.setattr(teachers, "TRAININGS", {Training.CONVENTIONAL: everyone_says_one})
    monkeypatch.setattr(module, "measure", lambda *_: MEASURE)
    split = digits()
    first, again = (list(cells([Training.CONVENTIONAL], split, tmp_path, lambda: None)) for _ in range(2))
    assert trained == [TEACHERS] * len(SIMILARITIES)
    assert [as_json(cell) for cell in first] == [as_json(cell) for cell in again]
    ones = float((split.public.y == 1).mean())
    assert all(cell.teacher == cell.plurality == pytest.approx(ones) for cell in first)
    plot(first, split, tmp_path / "figure.svg")
    legend = (tmp_path / "figure.svg").read_text()
    assert [f"conventional, s = {similarity}%" in legend for similarity in SIMILARITIES] == [True] * len(
        SIMILARITIES
    )


def test_every_kind_of_teachers_can_be_trained_and_drawn() -> None:
    assert set(TRAININGS) == set(LINES) == set(Training)


@pytest.mark.heavy
def test_students_learn_what_teachers_agree_on() -> None:
    split = digits()
    votes = np.tile(split.public.y, (TEACHERS, 1)).astype(np.uint8)
    found = measure(votes, split, Setting(gamma=3.0, queries=100, confident=False), NOTHING)
    assert (found.answered, found.labels) == (100, 1.0)
    assert found.student is not None
    assert found.student > 0.7
    assert found.exact is not None
    assert found.worst_case is not None
    assert found.exact <= found.worst_case


def test_what_training_cost_is_in_the_epsilon_of_labels() -> None:
    counts, mechanism = np.array([[[9.0, 1, 0]]]), LnMax(gamma=0.3)
    answered = np.ones((1, 1), dtype=bool)
    before = np.array([0.01 * order for order in ORDERS])
    (found,) = costs(counts, answered, mechanism, "exact", before)
    rdp = lnmax_rdp(counts[0], 0.3, ORDERS, bound="exact").sum(axis=0) + before
    assert found == pytest.approx(epsilon(rdp.tolist(), list(ORDERS), 1e-5))


def test_training_costs_what_its_sums_cost() -> None:
    d, sums = DP_TTAC.mechanism.recipe.parameters, DP_TTAC.rounds - 1
    moved = 2 + np.sqrt(d) * 2**-16
    wanted = [sums * order * moved**2 / (2 * 23.5**2) for order in ORDERS]
    found = training_rdp(Training.DP_TTAC)
    assert found is not None
    np.testing.assert_allclose(found, wanted)
    assert epsilon(wanted, list(ORDERS), 1e-5) == pytest.approx(2, abs=0.05)
    assert training_rdp(Training.TTAC) is None
    assert training_rdp(Training.CONVENTIONAL) == pytest.approx(NOTHING)


@pytest.mark.heavy
@pytest.mark.parametrize("lessons", [TTAC, DP_TTAC], ids=["ttac", "dp-ttac"])
def test_teachers_of_one_class_each_learn_the_others_together(lessons: Lessons) -> None:
    split = digits()
    few = replace(lessons, rounds=25)
    recipe = lessons.mechanism.recipe
    small = recipe.model_copy(update={"parameters": len(first_parameters(recipe.model, (8, 8), 10, 0))})
    noise = {} if lessons is TTAC else {"sigma": 0.2}
    few = replace(few, mechanism=lessons.mechanism.model_copy(update={"recipe": small, **noise}))
    cast = learn(few, 0, shards(split.private, 0), split.public.X)
    accuracy = plurality_accuracy(histograms(cast, 10), split.public.y)
    apart = answers(shards(split.private, 0), 0, split.public.X, epochs=5)
    assert accuracy > 3 * plurality_accuracy(histograms(apart, 10), split.public.y)


def test_tables_say_where_nothing_is_promised() -> None:
    votes = np.zeros((TEACHERS, 1), dtype=np.uint8)
    console = Console(width=120, record=True, file=StringIO())
    measures = dict.fromkeys(settings(), replace(MEASURE, worst_case=None, exact=None))
    for table in tables([Cell(one, 0, votes, 0.1, 0.1, measures) for one in Training]):
        console.print(table)
    text = console.export_text()
    assert "no guarantee" in text
    assert "0.00" in text


@pytest.mark.heavy
def test_runs_without_a_label_have_no_student() -> None:
    split = digits()
    votes = np.tile(np.arange(TEACHERS), (len(split.public.y), 1)).T.astype(np.uint8)
    found = measure(votes, split, Setting(gamma=5.0, queries=20, confident=True), NOTHING)
    assert (found.answered, found.labels, found.students) == (0, None, ())


def test_tables_put_the_papers_numbers_in_brackets() -> None:
    columns = [Setting(gamma, queries, confident=False) for queries in QUERIES for gamma in GAMMAS]
    measures = dict.fromkeys(columns, replace(MEASURE, students=(0.1234,)))
    votes = np.zeros((TEACHERS, 1), dtype=np.uint8)
    console = Console(width=120, record=True, file=StringIO())
    for table in tables([Cell(Training.CONVENTIONAL, 0, votes, 0.1, 0.1, measures)]):
        console.print(table)
    text = console.export_text()
    assert "12.3 (10.5)" in text
    published = len(SIMILARITIES) - 1  # none at S = 10
    assert all(len(one) == published * len(columns) for one in paper.TABLE.values())
