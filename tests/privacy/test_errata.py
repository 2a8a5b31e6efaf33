"""The corrections of docs/errata.md: each of the papers' formulas fails on an example, and ours holds on it.

Divergences are calculated exactly from the outcomes' probabilities, in many digits.
"""

from collections.abc import Sequence
from typing import Any

import mpmath as mp
import numpy as np
import pytest

from ostraka.common.mechanism import Binary, Check, Confident, GnMax, LnMax, Tau
from ostraka.common.privacy import WorstCase

ORDERS = (1.5, 2.0, 8.0, 32.0)
DIGITS = 40


def passes(distance: float, sigma: float) -> Any:
    """P(distance + N(0, sigma^2) > 0)."""
    with mp.workdps(DIGITS):
        return mp.ncdf(mp.mpf(distance) / mp.mpf(sigma))


def divergence(p: Sequence[Any], r: Sequence[Any], order: float) -> Any:
    """D_order(p || r) of two distributions over the same few outcomes."""
    with mp.workdps(DIGITS):
        a = mp.mpf(order)
        return mp.log(mp.fsum(x**a * y ** (1 - a) for x, y in zip(p, r, strict=True))) / (a - 1)


def bit(before: float, after: float, sigma: float, order: float) -> Any:
    """Return the divergence, in the worse direction, of saying whether a number and noise exceed 0."""
    p, r = ((passes(x, sigma), passes(-x, sigma)) for x in (before, after))
    return max(divergence(p, r, order), divergence(r, p, order))


def all_answers(cost: WorstCase, labels: int) -> float:
    """Return what Ostraka charges in the worst case for one query whose every label is answered."""
    return cost.check + min(labels * cost.answer, cost.most)


# 101 teachers, two labels. One record moves one teacher's ballot from (1, 0) to (0, 1): 51 yeses on the
# first label become 50, and 50 on the second become 51. Both ballots have norm 1, and tau = 1 clips none.
TEACHERS, LABELS = 101, 2
BEFORE, AFTER = (51, 50), (50, 51)


def lead(positives: int) -> int:
    return positives - (TEACHERS - positives)


def two_labels(leads: Sequence[Sequence[float]], sigma: float, order: float) -> Any:
    """Labels are drawn independently, so their divergences add up; both directions are alike here."""
    return sum(bit(before, after, sigma, order) for before, after in zip(*leads, strict=True))


LEADS = [[lead(count) for count in positives] for positives in (BEFORE, AFTER)]


def test_1_one_draw_against_the_true_negatives_breaks_binarys_and_taus_bound() -> None:
    sigma, order, tau = 20.0, 2.0, 1.0
    papers_binary, papers_tau = LABELS * order / sigma**2, order * tau**2 / sigma**2
    one_draw = two_labels(LEADS, sigma, order)
    assert float(one_draw) == pytest.approx(0.0127, abs=5e-5)
    assert (papers_binary, papers_tau) == pytest.approx((0.0100, 0.0050))
    assert one_draw > papers_binary > papers_tau


@pytest.mark.parametrize("order", ORDERS)
def test_1_noise_on_both_counts_keeps_what_ostraka_charges(order: float) -> None:
    sigma = 20.0
    both_draws = two_labels(LEADS, float(np.sqrt(2) * sigma), order)
    for mechanism in (Binary(sigma=sigma), Tau(sigma=sigma, tau=1.0)):
        charged = all_answers(mechanism.worst_case(order, classes=LABELS), LABELS)
        assert both_draws <= charged <= LABELS * order / sigma**2 * (1 + 1e-9)


def test_2_taus_bound_does_not_cover_noise_on_both_counts_either() -> None:
    sigma, order, tau = 20.0, 2.0, 1.0
    both_draws = two_labels(LEADS, float(np.sqrt(2) * sigma), order)
    assert float(both_draws) == pytest.approx(0.0064, abs=5e-5)
    assert both_draws > order * tau**2 / sigma**2
    assert both_draws <= 2 * order * tau**2 / sigma**2
    assert both_draws <= all_answers(Tau(sigma=sigma, tau=tau).worst_case(order, classes=LABELS), LABELS)


@pytest.mark.parametrize("order", ORDERS)
def test_2_taus_bound_is_right_for_one_draw_against_half_the_teachers(order: float) -> None:
    sigma, tau = 20.0, 1.0
    from_half = [[count - TEACHERS / 2 for count in positives] for positives in (BEFORE, AFTER)]
    assert two_labels(from_half, sigma, order) <= order * tau**2 / sigma**2


def test_2_many_labels_cost_no_more_than_twice_the_square_of_tau() -> None:
    """A ballot of 16 yeses, clipped to 1/4 each, replaced by one of no yes: 16 leads move by 1/2."""
    sigma, order, tau, labels = 20.0, 8.0, 1.0, 16
    true = labels * bit(0.25, -0.25, float(np.sqrt(2) * sigma), order)
    charged = all_answers(Tau(sigma=sigma, tau=tau).worst_case(order, classes=labels), labels)
    assert true <= charged <= 2 * order * tau**2 / sigma**2 * (1 + 1e-9)


def test_3_queries_that_fail_the_check_are_not_free() -> None:
    """A thousand queries with one vote less than the threshold: none is answered or charged by the paper."""
    queries, order = 1000, 8.0
    mechanism = Confident(sigma1=40.0, sigma2=10.0, threshold=60.0)
    papers = 0.0
    cost = mechanism.worst_case(order, classes=10)
    checks = queries * bit(59 - 60, 60 - 60, mechanism.sigma1, order)
    none = np.zeros((queries, 1), dtype=np.bool_)
    assert float(checks) == pytest.approx(1.587, abs=1e-3)
    assert checks > papers
    assert checks <= cost.rdp(none) <= queries * order / (2 * mechanism.sigma1**2) * (1 + 1e-9)


def test_3_one_transcript_of_failed_checks_alone_tells_the_neighbours_apart() -> None:
    """The outcome "nothing was answered" has a privacy loss of its own, and is charged nothing."""
    queries, sigma1 = 1000, 40.0
    none_before, none_after = (queries * mp.log(passes(gap, sigma1)) for gap in (1, 0))
    assert float(none_before - none_after) == pytest.approx(19.75, abs=0.01)


def test_4_the_same_noise_on_every_coordinate_is_no_noise() -> None:
    """The plurality wins whatever is drawn: one vote decides, and the divergence is infinite."""
    before, after = np.array([51, 50]), np.array([50, 51])
    draws = np.linspace(-1e4, 1e4, 10_001)[:, None]
    assert set((before + draws).argmax(axis=1)) == {0}
    assert set((after + draws).argmax(axis=1)) == {1}


@pytest.mark.parametrize("order", ORDERS)
def test_4_independent_draws_keep_what_ostraka_charges(order: float) -> None:
    sigma = 10.0
    true = bit(51 - 50, 50 - 51, float(np.sqrt(2) * sigma), order)
    assert 0 < true <= GnMax(sigma=sigma).worst_case(order, classes=2).answer


def ttac(means: Sequence[float], rounds: int = 60, steps: int = 5, rate: float = 0.2) -> np.ndarray:
    """Algorithm 1 of Dodwadmath and Stich 2022, for the squared distance to the records' mean."""
    own, average = np.asarray(means, dtype=float), 0.0
    correction, corrections = 0.0, np.zeros(len(means))
    for _ in range(rounds):
        teachers = np.full(len(means), average)
        for _ in range(steps):
            teachers -= rate * ((teachers - own) - corrections + correction)
        updated = corrections - correction + (average - teachers) / (steps * rate)
        correction += float((updated - corrections).mean())
        corrections, average = updated, average + float((teachers - average).mean())
    return teachers


# Ten teachers of two records each; a teacher votes "yes" where its parameter is above 0. One record of the
# first teacher changes from -2 to 2.
RECORDS = [[-2.0, -1.0], *([[0.8, -0.6]] * 9)]
CHANGED = [[2.0, -1.0], *RECORDS[1:]]


def votes(records: Sequence[Sequence[float]], *, coupled: bool) -> tuple[int, int]:
    means = [float(np.mean(own)) for own in records]
    yes = int((np.asarray(ttac(means) if coupled else means) > 0).sum())
    return yes, len(records) - yes


def test_5_one_record_moves_one_vote_of_separate_teachers_and_every_vote_of_coupled_ones() -> None:
    assert votes(RECORDS, coupled=False) == (9, 1)
    assert votes(CHANGED, coupled=False) == (10, 0)
    assert votes(RECORDS, coupled=True) == (0, 10)
    assert votes(CHANGED, coupled=True) == (10, 0)


def laplace_wins(lead: float, gamma: float) -> Any:
    """P(lead + Lap(1/gamma) - Lap(1/gamma) > 0)."""
    with mp.workdps(DIGITS):
        x = mp.mpf(gamma) * abs(mp.mpf(lead))
        less = mp.exp(-x) * (2 + x) / 4
        return 1 - less if lead >= 0 else less


def test_5_the_charge_for_one_vote_does_not_cover_what_ttac_moves() -> None:
    """The paper charges 2 gamma for a query; at its gamma of 0.5 coupled teachers lose four times that."""
    gamma, sigma, order = 0.5, 2.0, 8.0
    (yes, no), (more, less) = votes(RECORDS, coupled=True), votes(CHANGED, coupled=True)
    papers = 2 * gamma
    loss = mp.log(laplace_wins(more - less, gamma) / laplace_wins(yes - no, gamma))
    assert loss > 4 * papers
    assert bit(yes - no, more - less, float(np.sqrt(2) * sigma), order) > (
        GnMax(sigma=sigma).worst_case(order, classes=2).answer
    )


@pytest.mark.parametrize("order", ORDERS)
def test_5_the_charge_covers_separate_teachers_and_as_many_votes_as_it_names(order: float) -> None:
    sigma = 2.0
    (yes, no), (more, less) = votes(RECORDS, coupled=False), votes(CHANGED, coupled=False)
    separate = bit(yes - no, more - less, float(np.sqrt(2) * sigma), order)
    assert separate <= GnMax(sigma=sigma).worst_case(order, classes=2).answer
    (yes, no), (more, less) = votes(RECORDS, coupled=True), votes(CHANGED, coupled=True)
    coupled = bit(yes - no, more - less, float(np.sqrt(2) * sigma), order)
    assert coupled <= GnMax(sigma=sigma).worst_case(order, sensitivity=10.0, classes=2).answer
    p, r = ((laplace_wins(x, 0.5), laplace_wins(-x, 0.5)) for x in (8, 10))
    assert divergence(p, r, order) <= LnMax(gamma=0.5).worst_case(order, classes=2).answer


def test_6_a_check_of_every_label_charged_once_is_undercharged() -> None:
    """One ballot without a yes becomes one of 20: the larger side of every label grows by one vote."""
    labels, sigma1, order, threshold = 20, 50.0, 8.0, 85
    papers = order / (2 * sigma1**2)
    true = labels * bit(80 - threshold, 81 - threshold, sigma1, order)
    assert float(true) == pytest.approx(0.0204, abs=5e-5)
    assert papers == pytest.approx(0.0016)
    mechanism = Binary(sigma=20.0, check=Check(sigma=sigma1, threshold=float(threshold)))
    charged = mechanism.worst_case(order, classes=labels).check
    assert papers < true <= charged <= labels * papers


def test_6_clipped_ballots_cost_no_more_than_their_norm_allows() -> None:
    """20 yeses clipped to a norm of 1 move every count by 1/sqrt(20): less than 2 tau^2 checks together."""
    labels, sigma1, order, tau = 20, 50.0, 8.0, 1.0
    mechanism = Tau(sigma=20.0, tau=tau, check=Check(sigma=sigma1, threshold=80.0))
    true = labels * bit(0, tau / np.sqrt(labels), sigma1, order)
    charged = mechanism.worst_case(order, classes=labels).check
    assert true <= charged <= min(labels, 2 * tau**2) * order / (2 * sigma1**2) * (1 + 1e-9)
