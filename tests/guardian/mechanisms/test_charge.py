import math
from collections.abc import Callable
from dataclasses import replace
from typing import Literal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from ostraka.common.mechanism import (
    BOUND,
    L1,
    Binary,
    Check,
    Confident,
    DpTtac,
    GnMax,
    Interactive,
    LnMax,
    Mechanism,
    NoiseCluster,
    Powerset,
    RandRes,
    RandResLabels,
    Recipe,
    Tau,
    Ttac,
)
from ostraka.common.privacy import ONE_VOTE, Influence
from ostraka.common.privacy.gaussian import GAUSSIAN
from ostraka.common.privacy.worst_case import randomized_rdp
from ostraka.common.sharing.ballots import l1_radius
from ostraka.guardian.accounting import (
    InputError,
    Tally,
    binary_and_check_rdp,
    binary_rdp,
    confident_rdp,
    gnmax_rdp,
    interactive_rdp,
    lnmax_rdp,
    noise_cluster_rdp,
    powerset_and_check_rdp,
    powerset_rdp,
)
from ostraka.guardian.mechanisms import charge, largest_charge
from ostraka.guardian.mechanisms.charge import vote_total
from ostraka.guardian.noise import LATTICE

BOUNDS: list[BOUND] = ["theorem6", "exact"]
ORDER, N, K = 8.0, 50, 3
CHECK = Check(sigma=10, threshold=30)
CONFIDENT = Confident(sigma1=10, sigma2=5, threshold=25)
INTERACTIVE = Interactive(sigma1=10, sigma2=5, threshold=10, confidence=0.9)
COUNTS = np.array([[50, 0, 0], [30, 15, 5], [20, 15, 15], [0, 49, 1]], dtype=float)
POSITIVES = np.array([[50, 0, 7], [30, 25, 5], [26, 15, 49], [0, 49, 1]], dtype=float)
SCORES = np.floor(np.array([[0.9, 0.1, 0], [0.2, 0.3, 0.5], [0.2, 0.4, 0.4], [0, 1, 0]]) * 2**16) * LATTICE
SETS = np.zeros((4, 8))
SETS[:, :3] = COUNTS
ANSWERED = np.array([[True], [True], [False], [True]])
LABELS = np.array([[1, 1, 0], [1, 0, 0], [0, 0, 1], [1, 1, 1]], dtype=np.bool_)
EVERY = np.ones((4, 3), dtype=np.bool_)

influences = st.builds(Influence, st.integers(1, 3), st.sampled_from([0.37, 1.0, 1.6, 2.5]))

Cost = Callable[[BOUND], float]


def tally(
    mechanism: Mechanism,
    votes: NDArray[np.float64],
    answered: NDArray[np.bool_],
    scores: NDArray[np.float64] | None = None,
) -> Tally:
    return Tally(mechanism, K, np.full(len(votes), float(N)), N, votes, answered, scores)


def paid(released: Tally, bound: BOUND, order: float = ORDER, influence: Influence = ONE_VOTE) -> float:
    return charge(released, order, bound, influence, lattice=LATTICE)


def worst(released: Tally, order: float = ORDER, influence: Influence = ONE_VOTE) -> float:
    return released.mechanism.worst_case(order, influence.sensitivity, classes=K).rdp(released.answered)


CASES: list[tuple[Tally, Cost]] = [
    (
        tally(GnMax(sigma=5), COUNTS, EVERY[:, :1]),
        lambda bound: gnmax_rdp(COUNTS, 5, ORDER, bound=bound, lattice=LATTICE).sum(),
    ),
    (
        tally(LnMax(gamma=0.2), COUNTS, EVERY[:, :1]),
        lambda bound: lnmax_rdp(COUNTS, 0.2, ORDER, bound=bound, lattice=LATTICE).sum(),
    ),
    (
        tally(CONFIDENT, COUNTS, ANSWERED),
        lambda bound: confident_rdp(
            COUNTS, 25, 10, 5, ORDER, ANSWERED[:, 0], bound=bound, lattice=LATTICE
        ).sum(),
    ),
    (
        tally(INTERACTIVE, COUNTS, ANSWERED, SCORES),
        lambda bound: interactive_rdp(
            COUNTS, SCORES, 10, 10, 5, ORDER, ANSWERED[:, 0], bound=bound, lattice=LATTICE
        ).sum(),
    ),
    (
        tally(Binary(sigma=5), POSITIVES, EVERY),
        lambda bound: binary_rdp(POSITIVES, N, 5, ORDER, bound=bound, lattice=LATTICE).sum(),
    ),
    (
        tally(Binary(sigma=5, check=CHECK), POSITIVES, LABELS),
        lambda bound: binary_and_check_rdp(
            POSITIVES, N, 30, 10, 5, ORDER, LABELS, bound=bound, lattice=LATTICE
        ).sum(),
    ),
    (
        tally(Tau(sigma=5, tau=1.2), POSITIVES / 2, EVERY),
        lambda bound: binary_rdp(POSITIVES / 2, N, 5, ORDER, bound=bound, tau=1.2, lattice=LATTICE).sum(),
    ),
    (
        tally(L1(sigma=5, tau1=2, check=CHECK), POSITIVES / 2, LABELS),
        lambda bound: binary_and_check_rdp(
            POSITIVES / 2, N, 30, 10, 5, ORDER, LABELS, bound=bound, tau=l1_radius(2), lattice=LATTICE
        ).sum(),
    ),
    (
        tally(Powerset(sigma=5), SETS, EVERY),
        lambda bound: powerset_rdp(COUNTS, K, 5, ORDER, bound=bound, lattice=LATTICE).sum(),
    ),
    (
        tally(Powerset(sigma=5, max_positives=2, check=CHECK), SETS[:, :7], ANSWERED & EVERY),
        lambda bound: powerset_and_check_rdp(
            COUNTS, K, 30, 10, 5, ORDER, ANSWERED[:, 0], bound=bound, max_positives=2, lattice=LATTICE
        ).sum(),
    ),
    (
        replace(tally(NoiseCluster(sigma=5), COUNTS, EVERY[:, :1]), total=np.full(4, 4.0 * N), voters=4 * N),
        lambda bound: noise_cluster_rdp(COUNTS, 5, ORDER, bound=bound, lattice=LATTICE)[0],
    ),
]
RELEASED = [pytest.param(case[0], id=f"{case[0].mechanism.kind}-{row}") for row, case in enumerate(CASES)]


@pytest.mark.parametrize("released", RELEASED)
def test_worst_case_is_the_plans_cost_and_never_looks_at_the_votes(released: Tally) -> None:
    blind = replace(released, votes=np.full_like(released.votes, np.nan))
    assert paid(released, "worst_case") == paid(blind, "worst_case") == worst(released)


@pytest.mark.parametrize("bound", BOUNDS)
@pytest.mark.parametrize(("released", "cost"), CASES)
def test_a_batch_costs_what_the_public_functions_say(released: Tally, cost: Cost, bound: BOUND) -> None:
    total = paid(released, bound)
    assert total <= worst(released)
    if bound == "exact":
        assert total == pytest.approx(cost(bound), rel=1e-9)
        assert total < worst(released)
    else:
        assert total <= cost(bound) * (1 + 1e-9)


@pytest.mark.parametrize("released", RELEASED)
def test_a_larger_order_or_less_noise_costs_more_by_every_mechanism(released: Tally) -> None:
    assert paid(released, "exact", 4.0) < paid(released, "exact", 32.0)
    noisier = replace(released, mechanism=less_telling(released.mechanism))
    assert paid(noisier, "exact") < paid(released, "exact")


@pytest.mark.parametrize("bound", BOUNDS)
@pytest.mark.parametrize("released", RELEASED)
def test_a_gaussian_filter_charges_the_worst_case(released: Tally, bound: BOUND) -> None:
    assert paid(released, bound, GAUSSIAN) == worst(released, GAUSSIAN)
    total = vote_total(released, GAUSSIAN, 1.0, 1.0, bytes(16))
    cost = released.mechanism.worst_case(GAUSSIAN, classes=K)
    assert (total.spent, set(total.changes)) == (cost.amount(released.answered), {0})


def less_telling(mechanism: Mechanism) -> Mechanism:
    """Return a mechanism with twice the noise in whatever it draws."""
    changes: dict[str, object] = {
        name: value * (0.5 if name in {"gamma", "epsilon"} else 2)
        for name, value in mechanism
        if name in {"sigma", "sigma1", "sigma2", "gamma", "epsilon"}
    }
    check = getattr(mechanism, "check", None)
    if check is not None:
        changes["check"] = check.model_copy(update={"sigma": 2 * check.sigma})
    assert changes
    return mechanism.model_copy(update=changes)


@pytest.mark.parametrize("bound", BOUNDS)
@pytest.mark.parametrize("released", RELEASED)
@pytest.mark.parametrize("value", [-1.0, 2.0**46, -(2.0**47), math.nan, math.inf, 50.5])
def test_sums_that_no_ballots_make_are_charged_the_worst_case(
    released: Tally, bound: BOUND, value: float
) -> None:
    votes = released.votes.copy()
    votes[1, 0] = value
    odd = replace(released, votes=votes)
    rest = replace(
        odd,
        total=np.delete(odd.total, 1),
        votes=np.delete(votes, 1, axis=0),
        answered=np.delete(odd.answered, 1, axis=0),
        scores=None if odd.scores is None else np.delete(odd.scores, 1, axis=0),
    )
    if isinstance(released.mechanism, NoiseCluster):
        assert paid(odd, bound) == worst(odd)
        return
    alone = replace(odd, total=odd.total[1:2], votes=votes[1:2], answered=odd.answered[1:2])
    assert paid(odd, bound) == pytest.approx(paid(rest, bound) + worst(alone), rel=1e-12)


@pytest.mark.parametrize("row", [[51, 0, 0], [49, 0, 0], [49.5, 0, 0], [25, 25, 25]])
def test_a_histogram_has_as_many_votes_as_were_scheduled(row: list[float]) -> None:
    odd = tally(CONFIDENT, np.array([row]), np.array([[True]]))
    assert paid(odd, "exact") == worst(odd)


@pytest.mark.parametrize("bound", BOUNDS)
@pytest.mark.parametrize("influence", [Influence(weight=1.6), Influence(2, 0.5)], ids=str)
def test_weighted_votes_of_totals_that_differ_by_query_are_charged_by_the_bound(
    bound: BOUND, influence: Influence
) -> None:
    steps = np.floor(np.array([[40.37, 3.5, 1.25], [9.6, 0.0, 0.0], [0.0, 0.0, 0.0]]) * 2**16) / 2**16
    released = replace(tally(GnMax(sigma=5), steps, EVERY[:3, :1]), total=steps.sum(axis=1))
    single = gnmax_rdp(steps, 5, ORDER, bound=bound, influence=influence, lattice=LATTICE)[:, 0]
    expected = np.minimum(single, worst(released, influence=influence) / len(single)).sum()
    assert paid(released, bound, influence=influence) == pytest.approx(expected, rel=1e-9)
    assert paid(released, bound, influence=influence) <= worst(released, influence=influence)
    others = replace(released, total=released.total[::-1])
    alone = others.rows(np.array([False, True, False]))
    assert paid(others, bound, influence=influence) == pytest.approx(
        worst(released, influence=influence)
        - worst(alone, influence=influence)
        + paid(alone, bound, influence=influence)
    )


@pytest.mark.parametrize("bound", BOUNDS)
def test_votes_for_more_label_sets_than_there_are_voters_are_charged_the_worst_case(bound: BOUND) -> None:
    votes = np.array([[20.0, 10, 10, 5, 5, 0, 0, 0]])
    released = tally(Powerset(sigma=5), votes, EVERY[:1])
    assert paid(replace(released, voters=5), bound) <= worst(released)
    assert paid(replace(released, voters=5), "exact") < worst(released)
    assert paid(replace(released, voters=4), bound) == worst(released)


@pytest.mark.parametrize("bound", ["worst_case", *BOUNDS])
@pytest.mark.parametrize("released", RELEASED)
def test_queries_on_which_nobody_votes_can_be_charged(released: Tally, bound: BOUND) -> None:
    nobody = replace(released, votes=np.zeros_like(released.votes), total=np.zeros(4), voters=0)
    assert 0 < paid(nobody, bound) <= worst(replace(nobody, answered=np.ones_like(nobody.answered)))


@pytest.mark.parametrize("released", RELEASED)
def test_a_unit_that_changes_more_pays_more(released: Tally) -> None:
    ladder = [Influence(weight=0.37), ONE_VOTE, Influence(weight=1.6), Influence(weight=2), Influence(2)]
    costs = [paid(released, "exact", influence=influence) for influence in ladder]
    assert costs == sorted(costs)
    assert costs[0] < costs[-1]


def test_a_record_may_lie_in_another_cluster_and_a_label_may_not() -> None:
    votes = np.array([[40.0, 5, 5], [20, 16, 14]])
    clusters = Tally(NoiseCluster(sigma=5), K, np.full(2, 100.0), 100, votes, EVERY[:2, :1])
    assert paid(replace(clusters, adjacency="label"), "exact") <= paid(clusters, "exact")


@pytest.mark.parametrize("bound", ["worst_case", *BOUNDS])
@pytest.mark.parametrize("released", RELEASED)
def test_the_largest_charge_covers_all_answers(released: Tally, bound: BOUND) -> None:
    most = largest_charge(released, ORDER, bound, lattice=LATTICE)
    draws = np.random.default_rng(1)
    for share in (0.0, 0.3, 0.7, 1.0):
        answered = draws.random(released.answered.shape) < share
        if isinstance(released.mechanism, Powerset):
            answered = np.repeat(answered[:, :1], K, axis=1)
        assert paid(replace(released, answered=answered), bound) <= most * (1 + 1e-12)
        labels = draws.integers(0, K, answered.shape)
        assert paid(replace(released, answered=answered, labels=labels), bound) <= most * (1 + 1e-12)
    everything = replace(released, answered=np.ones_like(released.answered))
    assert most <= worst(everything) * (1 + 1e-12)


@pytest.mark.heavy
@settings(deadline=None, max_examples=60)
@given(
    st.sampled_from([case[0] for case in CASES]),
    st.integers(0, 2**32 - 1),
    influences,
    st.sampled_from([1.5, 4.0, 32.0, 200.0]),
    st.sampled_from(["worst_case", *BOUNDS]),
)
def test_never_above_what_was_reserved(
    released: Tally, seed: int, influence: Influence, order: float, bound: BOUND
) -> None:
    draws = np.random.default_rng(seed)
    answered = released.answered & (draws.random(released.answered.shape) < 0.7)
    if isinstance(released.mechanism, Powerset):
        answered = np.broadcast_to(answered.any(axis=1, keepdims=True), answered.shape)
    some = replace(released, answered=answered)
    whole = replace(released, answered=np.ones_like(released.answered))
    most = worst(whole, order, influence) * (1 + 1e-12)
    assert 0 <= paid(some, bound, order, influence) <= most


@pytest.mark.parametrize("released", RELEASED)
@pytest.mark.parametrize("bound", ["worst_case", *BOUNDS])
def test_an_empty_batch_costs_nothing(released: Tally, bound: BOUND) -> None:
    none = replace(
        released,
        total=released.total[:0],
        votes=released.votes[:0],
        answered=released.answered[:0],
        scores=None if released.scores is None else released.scores[:0],
    )
    assert paid(none, bound) == 0


def test_interactive_needs_the_scores_that_it_asked_about() -> None:
    with pytest.raises(InputError, match=r"^scores"):
        paid(tally(INTERACTIVE, COUNTS, ANSWERED), "exact")


def test_a_bound_must_be_known() -> None:
    with pytest.raises(InputError, match=r"^bound"):
        charge(CASES[0][0], ORDER, "loose", lattice=LATTICE)  # type: ignore[arg-type]


def test_noise_too_narrow_for_the_lattice_is_charged_the_worst_case() -> None:
    narrow = tally(GnMax(sigma=2 * LATTICE), COUNTS[:1], np.array([[True]]))
    for bound in BOUNDS:
        assert paid(narrow, bound, 1.5) == worst(narrow, 1.5)


@given(
    influence=influences,
    bound=st.sampled_from([*BOUNDS, "worst_case"]),
    clip=st.sampled_from(["record", "party"]),
)
def test_rounds_of_a_training_cost_the_worst_case_under_every_bound(
    influence: Influence, bound: BOUND, clip: Literal["record", "party"]
) -> None:
    recipe = Recipe(model="mlp", parameters=2, steps=1, batch_size=1, learning_rate=0.1)
    for mechanism in (Ttac(recipe=recipe), DpTtac(recipe=recipe, clip=clip, radius=1.0, sigma=5.0)):
        votes, given = np.array([[0.5, -3.0], [1e9, 2.0]]), np.ones((2, 1), dtype=np.bool_)
        tally = Tally(mechanism, K, np.full(2, float(N)), N, votes, given)
        worst = mechanism.worst_case(ORDER, influence.sensitivity, classes=K)
        assert charge(tally, ORDER, bound, influence, lattice=LATTICE) == worst.rdp(given)


@pytest.mark.parametrize("bound", BOUNDS)
@pytest.mark.parametrize(
    ("mechanism", "answers", "choices"),
    [(RandRes(epsilon=2.0), 1, K), (RandResLabels(epsilon=2.0), K, 4)],
    ids=["class", "labels"],
)
def test_labels_drawn_anew_cost_once_by_every_bound_whatever_they_are(
    mechanism: Mechanism, answers: int, choices: int, bound: BOUND
) -> None:
    drawn = tally(mechanism, COUNTS, EVERY[:, :answers])
    for votes in (COUNTS, COUNTS[::-1], np.full_like(COUNTS, 2.0**46), np.zeros_like(COUNTS)):
        for answered in (EVERY[:, :answers], ~EVERY[:, :answers]):
            released = replace(drawn, votes=votes, answered=answered)
            assert paid(released, bound) == worst(drawn) == randomized_rdp(2.0, choices, ORDER)
    assert largest_charge(drawn, ORDER, bound, lattice=LATTICE) == worst(drawn)
    several = charge(drawn, ORDER, bound, Influence(votes=3), lattice=LATTICE)
    assert several == 3 * worst(drawn)
    nothing = drawn.rows(np.zeros(len(COUNTS), dtype=np.bool_))
    assert paid(nothing, bound) == 0
