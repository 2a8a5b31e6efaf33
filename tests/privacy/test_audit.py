"""The release path, sampled on neighbouring inputs, against what is promised and what is exact.

The worst case alone is too loose to see small faults (0.8 of the noise still meets it), so the sampled
outcomes are also compared with their exact probabilities. Every fault planted here must be found.
`make audit` does the same with far more samples.
"""

from dataclasses import replace
from itertools import cycle

import numpy as np
import pytest

from ostraka.common.mechanism import Confident, GnMax, Interactive, labelling
from ostraka.common.privacy import ONE_VOTE, ORDERS, Influence
from ostraka.common.sharing.fixed_point import decode
from ostraka.common.sharing.modulus import Modulus
from ostraka.common.sharing.ring import Ring
from ostraka.guardian.accounting import Tally
from ostraka.guardian.mechanisms import charge
from ostraka.guardian.noise import LATTICE, ExactNoise
from tests.privacy.audit import DELTA, audit, promised, telling, uncharged
from tests.privacy.cases import (
    ABSTAINING,
    CASES,
    ONE_ANSWER,
    PERSONALIZED,
    RANDOMIZED,
    TELLING_CHECKS,
    Case,
    Votes,
    charged,
)
from tests.privacy.evidence import agrees, least_epsilon
from tests.privacy.faults import Narrow, Shared
from tests.privacy.probabilities import divergence, exact_epsilon, outcomes
from tests.privacy.sampling import MODULI, sample, tally

DRAWS = 2_500
FAULT_DRAWS = 8_000
EVERY = pytest.mark.parametrize("case", CASES, ids=str)


def test_every_mechanism_is_audited() -> None:
    assert {case.mechanism.kind for case in CASES + RANDOMIZED} == set(labelling())


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("case", "ring"), zip(CASES + PERSONALIZED + ABSTAINING + RANDOMIZED, cycle(MODULI)), ids=str
)
def test_outcomes_are_as_probable_as_calculated_and_within_the_promise(case: Case, ring: Modulus) -> None:
    found = audit(case, DRAWS, ExactNoise(), ring)
    assert found.probable
    assert found.kept


@pytest.mark.parametrize("case", CASES + PERSONALIZED + ABSTAINING + TELLING_CHECKS + RANDOMIZED, ids=str)
def test_the_calculated_probabilities_obey_the_worst_case(case: Case) -> None:
    p, r = (outcomes(case, votes) for votes in case.inputs)
    assert sum(p) == pytest.approx(1)
    for order in ORDERS[:80]:
        allowed = charged(case, order) * (1 + 1e-6)
        assert max(divergence(p, r, order), divergence(r, p, order)) <= allowed
    assert 0 < exact_epsilon(p, r, DELTA) <= promised(case)


@pytest.mark.heavy
@pytest.mark.parametrize("name", ["gnmax, narrow", "lnmax"])
def test_noise_a_fifth_too_small_is_found(name: str) -> None:
    """Of either kind of noise; `make audit` plants it in every mechanism."""
    (case,) = (case for case in CASES if case.name == name)
    counts = sample(case, case.inputs[0], FAULT_DRAWS, Narrow(), Ring(64))
    assert not agrees(counts, outcomes(case, case.inputs[0]))


@EVERY
def test_the_same_draw_on_every_coordinate_is_found(case: Case) -> None:
    counts = sample(case, case.inputs[0], DRAWS, Shared(), Ring(64))
    assert not agrees(counts, outcomes(case, case.inputs[0]))


def test_the_same_draw_on_every_coordinate_breaks_the_promise_itself() -> None:
    close = Case("close", GnMax(sigma=20.0), 2, (np.array([0] * 5 + [1] * 4), np.array([0] * 4 + [1] * 5)))
    one, other = (sample(close, votes, DRAWS, Shared(), Ring(64)) for votes in close.inputs)
    expected = outcomes(close, close.inputs[0]), outcomes(close, close.inputs[1])
    assert least_epsilon((one, other), expected, DELTA) > promised(close)


@pytest.mark.heavy
@pytest.mark.parametrize("case", TELLING_CHECKS, ids=str)
def test_a_check_that_is_not_charged_is_found(case: Case) -> None:
    """Section 4.2.2 of Tang et al. 2022 charges the argmax of answered queries alone."""
    found = audit(case, DRAWS, ExactNoise(), Ring(64))
    assert found.holds
    assert not uncharged(found).kept
    p, r = (outcomes(case, votes) for votes in case.inputs)
    for order in (2.0, 8.0):
        assert charged(case, order, check=False) < divergence(p, r, order) <= charged(case, order)


@pytest.mark.parametrize("case", ONE_ANSWER, ids=str)
def test_true_labels_that_come_too_often_are_found(case: Case) -> None:
    found = telling(FAULT_DRAWS, case)
    assert not found.probable
    assert not found.kept


TIED = np.repeat([0, 1], 6)
HEAVY = Case(
    "one heavy vote",
    GnMax(sigma=20.0),
    2,
    (TIED, np.repeat([0, 1], [5, 7])),
    influence=Influence(weight=2.5),
    weights=np.full(12, 2.5),
)
SEVERAL = Case("two copies", GnMax(sigma=20.0), 2, (TIED, np.repeat([0, 1], [4, 8])), influence=Influence(2))


@pytest.mark.parametrize("case", [HEAVY, SEVERAL], ids=str)
def test_one_vote_of_weight_1_would_not_pay_for_what_these_units_change(case: Case) -> None:
    p, r = (outcomes(case, votes) for votes in case.inputs)
    for order in (2.0, 8.0):
        true = max(divergence(p, r, order), divergence(r, p, order))
        assert charged(replace(case, influence=ONE_VOTE), order) < true <= charged(case, order)


def exactly_charged(case: Case, votes: Votes, order: float, label: int | None = None) -> float:
    """Return what these votes of one query are charged by the divergence itself, with all answers given.

    With a `label` by it, where it is the answer; -1 is none.
    """
    answers = case.mechanism.answers(case.classes)
    released = Tally(
        mechanism=case.mechanism,
        classes=case.classes,
        total=case.totals(1),
        voters=case.teachers,
        votes=decode(tally(case, votes, 1, Ring(64)), Ring(64)),
        answered=np.full((1, answers), label != -1),
        scores=case.scores[None] if case.scores.size else None,
        labels=None if label is None else np.array([[label]]),
    )
    return charge(released, order, "exact", case.influence, lattice=LATTICE)


ONE_RELEASE = [
    case
    for case in CASES + PERSONALIZED + ABSTAINING
    if case.rows == 1 and not case.mechanism.worst_case(2.0, classes=case.classes).check
]


@pytest.mark.parametrize("case", ONE_RELEASE, ids=str)
def test_the_calculated_probabilities_obey_what_either_neighbour_is_charged_exactly(case: Case) -> None:
    """Without a check: where there is one, each outcome has a charge of its own."""
    p, r = (outcomes(case, votes) for votes in case.inputs)
    for order in (1.5, 2.0, 8.0, 32.0):
        true = max(divergence(p, r, order), divergence(r, p, order))
        for votes in case.inputs:
            assert true <= exactly_charged(case, votes, order) * (1 + 1e-6)


BY_LABEL = [
    case for case in CASES + PERSONALIZED if isinstance(case.mechanism, GnMax | Confident | Interactive)
]


@pytest.mark.parametrize("case", BY_LABEL, ids=str)
def test_the_calculated_probabilities_obey_the_charges_by_label(case: Case) -> None:
    """A filter's condition: with each outcome's own charge taken off, no moment exceeds 1."""
    p, r = (outcomes(case, votes) for votes in case.inputs)
    possible = p > 0
    p, r, labels = p[possible], r[possible], np.arange(-1, case.classes)[possible]
    for order in (1.5, 8.0, 32.0):
        for votes in case.inputs:
            costs = [exactly_charged(case, votes, order, label) for label in labels.tolist()]
            spared = np.exp((1 - order) * np.array(costs))
            assert (p**order * r ** (1 - order) * spared).sum() <= 1 + 1e-6
            assert (r**order * p ** (1 - order) * spared).sum() <= 1 + 1e-6
