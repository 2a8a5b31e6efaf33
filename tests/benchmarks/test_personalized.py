import math
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from numpy.typing import NDArray

from benchmarks.personalized import paper
from benchmarks.personalized.budgets import ORDERS, OURS, PAPER, Account, affordable
from benchmarks.personalized.cells import FACTORS, Cell, deal
from benchmarks.personalized.configurations import LOWER, average, everyone, square_roots
from benchmarks.personalized.data import DELTA, PARAMETERS, Records, Split
from benchmarks.personalized.digit_students import accuracy, vat
from benchmarks.personalized.digit_students import network as learned_network
from benchmarks.personalized.paper_network import network
from benchmarks.personalized.participation import higher_teachers, participation, weights
from benchmarks.personalized.teachers import ensemble_size, slices
from benchmarks.personalized.variants import Produced, Side, vanishing
from benchmarks.personalized.voting import Ballots, Prices, histogram
from ostraka.common.privacy import ONE_VOTE, Influence, budget_rdp, epsilon, propose_order
from ostraka.guardian.accounting.numerics.arguments import Bound

LIMITS = np.array([1.0, 3.0])


def account(charge: float, took_part: list[list[bool]]) -> Account:
    part = np.array(took_part)
    return Account(np.tile([charge, 4 * charge], (len(part), 1)), part, LIMITS)


def test_votes_stop_before_the_query_that_exceeds_the_budget_at_every_order() -> None:
    assert affordable([account(0.25, [[True]] * 6)]) == 4
    assert affordable([account(0.26, [[True]] * 6)]) == 3


def test_one_order_within_its_limit_is_enough() -> None:
    spent = np.tile([9.0, 1.0], (5, 1))
    assert affordable([Account(spent, np.ones((5, 1), dtype=bool), LIMITS)]) == 3


def test_the_unit_that_took_part_most_stops_the_votes() -> None:
    turns = [[True, query % 2 == 0] for query in range(6)]
    assert affordable([account(0.5, turns)]) == 2
    assert affordable([account(0.5, [[second] for _, second in turns])]) == 4
    assert affordable([account(0.1, [[True]] * 6), account(0.5, turns)]) == 2


def test_a_budget_that_allows_no_order_pays_for_nothing_but_all_queries_may_be_affordable() -> None:
    assert affordable([Account(np.zeros((3, 2)), np.ones((3, 1), dtype=bool), np.array([-1.0, -2.0]))]) == 0
    assert affordable([account(0.001, [[True]] * 6)]) == 6


@pytest.mark.parametrize("budget", [math.log(2), math.log(16)])
def test_limits_are_the_rdp_whose_epsilon_is_the_budget(budget: float) -> None:
    classic, tight = PAPER.limits(budget), OURS.limits(budget)
    assert np.allclose(classic + math.log(1 / DELTA) / (ORDERS - 1), budget)
    paying = tight > 0
    assert paying.any()
    assert (tight[paying] > classic[paying]).all()
    for order, limit in zip(ORDERS[paying], tight[paying], strict=True):
        assert epsilon(limit, order, DELTA) == pytest.approx(budget)


def test_copies_go_to_different_teachers_who_learn_equally_many_records() -> None:
    copies = np.where(np.arange(400) % 2 == 0, 4, 1)
    dealt = deal(copies, 7, np.random.default_rng(2))
    assert {len(rows) for rows in dealt} == {142, 143}
    assert all(len(set(rows)) == len(rows) for rows in dealt)
    assert np.array_equal(np.bincount(np.concatenate(dealt)), copies)


@pytest.mark.parametrize(("factor", "ratio"), paper.VARIANTS["mnist"])
def test_cells_share_the_teachers_of_further_copies(factor: int, ratio: int) -> None:
    cell, split = Cell("mnist-small", "random", factor, ratio), unlearned(4000)
    held = [rows for part in cell.parts for rows in slices(part, split)]
    assert all(len(set(rows)) == len(rows) for rows in held)
    assert np.bincount(np.bincount(np.concatenate(held)))[[1, factor]].tolist() == [
        4000 - 40 * ratio,
        40 * ratio,
    ]
    assert (
        len(held) == ensemble_size(cell, split) == pytest.approx(250 * (1 + (factor - 1) * ratio / 100), 0.01)
    )
    assert set(cell.parts) <= set(Cell("mnist-small", "random", 4, 75).parts)


def unlearned(private: int) -> Split:
    """Return a split of so many private records, of which nothing is known but the class."""
    none = Records(np.zeros((0, 1), dtype=np.float32), np.zeros(0, dtype=np.int64))
    return Split(Records(none.X, np.zeros(private, dtype=np.int64)), none, none)


def test_the_rarer_class_alone_has_copies_where_the_cell_is_skewed() -> None:
    y = np.arange(200) % 4 == 1
    copies = Cell("adult", "skewed", 3, 100).copies(y.astype(np.int64), np.random.default_rng(1))
    assert np.array_equal(copies, np.where(y, 3, 1))


@pytest.mark.parametrize(("factor", "ratio"), paper.VARIANTS["mnist"])
def test_vanishing_asks_a_stable_number_of_teachers_each_once_a_period(factor: int, ratio: int) -> None:
    higher, period = higher_teachers(250, ratio), factor**2
    took_part = participation(higher, period, 3 * period, np.random.default_rng(5))
    sizes = took_part.sum(axis=1)
    assert sizes.max() - sizes.min() <= 1
    assert took_part[:, higher].all()
    for start in range(0, 3 * period, period):
        assert (took_part[start : start + period, ~higher].sum(axis=0) == 1).all()
    assert not np.array_equal(took_part[:period], took_part[period : 2 * period])


def test_weights_are_budgets_over_their_mean_rounded_down() -> None:
    weight = weights(higher_teachers(4, 50), (1.0, 2.0))
    assert weight.tolist() == [87381 / 2**16, 87381 / 2**16, 43690 / 2**16, 43690 / 2**16]


def test_square_roots_of_what_budgets_pay_for_are_less_far_apart_than_epsilons() -> None:
    for factor in FACTORS:
        lower, higher = square_roots(factor)
        assert lower == 1 < higher < factor
    budgets = [(each, propose_order(each, DELTA)) for each in (LOWER, 4 * LOWER)]
    queries = [budget_rdp(each, DELTA, order) / order for each, order in budgets]
    assert square_roots(4)[1] == pytest.approx(math.sqrt(queries[1] / queries[0]))


def test_histograms_count_weights_of_teachers_or_of_queries() -> None:
    votes = np.array([[0, 1], [0, 2], [1, 2]], dtype=np.uint8)
    assert histogram(votes, 3, np.array([0.5, 1.0, 2.0])).tolist() == [[1.5, 2.0, 0.0], [0.0, 0.5, 3.0]]
    assert histogram(votes, 3, np.array([[1.0, 1, 1], [1, 0, 1]])).tolist() == [[2, 1, 0], [0, 1, 1]]


@pytest.mark.heavy
@pytest.mark.parametrize("bound", ["worst_case", "theorem6", "exact"])
def test_charges_scale_with_the_sensitivity(bound: Bound) -> None:
    counts = np.array([[250.0, 0, 0], [0, 240, 10], [130, 0, 120]])
    answered = np.array([True, True, False])
    prices = Prices(PARAMETERS["mnist"])
    whole = prices.charges(Ballots(counts, np.ones(3)), answered, ONE_VOTE, bound)
    doubled = Ballots(2 * counts, np.full(3, 2.0))
    heavier = prices.charges(doubled, answered, Influence(weight=2.0), bound)
    mirrored = prices.charges(Ballots(counts[:, ::-1], np.ones(3)), answered, ONE_VOTE, bound)
    assert np.allclose(whole, heavier)
    assert np.array_equal(whole, mirrored)
    assert (whole > 0).all()


def test_more_budget_gives_more_labels_and_unlimited_budget_the_whole_pool() -> None:
    random = np.random.default_rng(0)
    votes = (random.random((250, 2000)) < 0.2).astype(np.uint8)
    pool = everyone(votes, "adult")
    little, much, all_of_it = (
        pool.run([Side(ONE_VOTE, budget)], PAPER, np.random.default_rng(1)) for budget in (0.7, 1.0, 1e6)
    )
    assert 0 < len(little.rows) < len(much.rows) < len(all_of_it.rows)
    assert [one.whole_pool for one in (little, much, all_of_it)] == [False, False, True]
    assert set(little.rows) <= set(much.rows)
    assert (all_of_it.labels == 0).mean() > 0.9


def test_vanishing_with_every_teacher_in_every_query_is_no_vanishing() -> None:
    votes = (np.random.default_rng(0).random((250, 1000)) < 0.03).astype(np.uint8)
    higher = higher_teachers(250, 50)
    apart = vanishing(
        votes, Prices(PARAMETERS["adult"]), higher, 1, (0.7, 0.7), PAPER, np.random.default_rng(3)
    )
    together = everyone(votes, "adult").run([Side(ONE_VOTE, 0.7)], PAPER, np.random.default_rng(3))
    assert abs(len(apart.rows) - len(together.rows)) <= 0.25 * len(together.rows)


def test_the_papers_network_has_the_layers_of_its_table() -> None:
    weights_of = [weight.numel() for weight in network((28, 28), 10).parameters()]
    assert weights_of == [32 * 9, 32, 32, 32, 5408 * 100, 100, 100, 100, 1000, 10]


@pytest.mark.parametrize(("classes", "right"), [([], 0.0), ([1, 1], 0.75)])
def test_of_labels_of_less_than_two_classes_a_student_says_what_there_is(
    classes: list[int], right: float
) -> None:
    split = replace(unlearned(0), test=Records(np.zeros((4, 1), dtype=np.float32), np.array([1, 1, 0, 1])))
    produced = Produced(np.arange(len(classes)), np.array(classes, dtype=np.int64), False)

    def never(produced: Produced, split: Split, seed: int) -> NDArray[np.int64]:
        raise AssertionError("there is nothing to learn")

    assert accuracy(never, produced, split, np.random.default_rng(0)) == right


@pytest.mark.heavy
def test_students_learn_what_was_produced() -> None:
    random = np.random.default_rng(0)
    y = random.integers(0, 2, 40)
    X = (np.where(y == 1, 1, -1)[:, None, None] * np.eye(28) + random.normal(0, 0.1, (40, 28, 28))).astype(
        np.float32
    )
    split = replace(unlearned(0), public=Records(X, y), test=Records(X[20:], y[20:]))
    produced = Produced(np.arange(20), y[:20], False)
    for student in (learned_network, partial(vat, steps=20)):
        assert accuracy(student, produced, split, np.random.default_rng(1)) > 0.9


def test_the_average_budget_is_that_of_the_paper() -> None:
    assert average(2, 0.75) == pytest.approx(average(3, 0.25)) == pytest.approx(math.log(3.5))
    assert paper.AVERAGE["mnist"][2, 75] == paper.AVERAGE["mnist"][3, 25]
