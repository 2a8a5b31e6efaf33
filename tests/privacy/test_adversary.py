"""The adversary of whole transcripts: he proves nothing of right code, and finds every planted fault.

`make audit` does the same with far more transcripts.
"""

import math
from dataclasses import replace

import numpy as np
import pytest

from ostraka.common.mechanism import RandRes, RandResLabels, labelling
from ostraka.guardian.noise import ExactNoise
from tests.privacy import adversary
from tests.privacy.adversary import ATTACKS, Attack, Attacked, Transcripts, attacked, attacks, learn
from tests.privacy.audit import DELTA, PLANTED

FEW, MANY = 300, 4_000
PAIRS = [(name, attack) for name, (_, told) in PLANTED.items() for attack in attacks(*told)]


def test_every_mechanism_whose_noise_the_guardian_draws_is_attacked() -> None:
    """Labels that parties draw themselves are sampled and compared with their probabilities instead."""
    drawn_by_parties = {RandRes.model_fields["kind"].default, RandResLabels.model_fields["kind"].default}
    assert {attack.case.mechanism.kind for attack in ATTACKS} == set(labelling()) - drawn_by_parties
    assert len(ATTACKS) + len(PAIRS) <= adversary.MOST_ATTACKS


@pytest.mark.heavy
@pytest.mark.parametrize("attack", ATTACKS, ids=str)
def test_right_code_leaves_room_for_the_claim(attack: Attack) -> None:
    found = attacked(attack, FEW, ExactNoise(), DELTA)
    assert found.holds
    assert found.claimed > 0


@pytest.mark.heavy
@pytest.mark.parametrize(("name", "attack"), PAIRS, ids=str)
def test_planted_faults_are_found(name: str, attack: Attack) -> None:
    planted, _ = PLANTED[name]
    assert not planted(MANY, attack).holds


def test_an_offset_makes_a_tie_of_votes_that_are_none() -> None:
    (attack,) = attacks("gnmax, sums shifted to a tie")
    labels = adversary.observe(attack, 0, 200, ExactNoise(), adversary._kept).outcomes
    assert 0.3 < (labels == 1).mean() < 0.85
    unshifted = adversary.observe(replace(attack, offset=()), 0, 200, ExactNoise(), adversary._kept).outcomes
    assert (unshifted == 1).mean() > 0.85


@pytest.mark.parametrize(("often", "seldom"), [(0.9, 0.1), (0.5, 0.4), (1.0, 0.5)])
@pytest.mark.parametrize("order", [1.5, 2.0, 16.0])
def test_the_divergence_of_two_coins(often: float, seldom: float, order: float) -> None:
    moment = often**order * seldom ** (1 - order) + (1 - often) ** order * (1 - seldom) ** (1 - order)
    assert adversary._divergence(often, seldom, order) == pytest.approx(math.log(moment) / (order - 1))
    assert adversary._divergence(seldom, often, order) == 0.0


def coins(chance: float, seed: int, transcripts: int = 4_000) -> Transcripts:
    return Transcripts(np.random.default_rng(seed).binomial(1, chance, (transcripts, 5)).astype(np.int64))


def told_apart(share: float, monkeypatch: pytest.MonkeyPatch) -> Attacked:
    """Five coins of 0.6 and 0.4, of which a `share` of their divergence is charged at every order."""
    seen = iter([coins(0.6, 0), coins(0.4, 1), coins(0.6, 2), coins(0.4, 3)])
    monkeypatch.setattr(adversary, "observe", lambda *_: next(seen))
    monkeypatch.setattr(Attack, "claimed", lambda _, order: share * five_coins(order))
    return attacked(ATTACKS[0], 4_000, ExactNoise(), DELTA)


def five_coins(order: float) -> float:
    return 5 * adversary._divergence(0.6, 0.4, order)


def test_what_is_found_lies_below_the_truth_and_not_far(monkeypatch: pytest.MonkeyPatch) -> None:
    found = told_apart(1.0, monkeypatch)
    assert found.holds
    assert 0.3 < found.share < 1.0
    assert 0.5 < found.least < 5 * math.log(1.5)


def test_a_claim_of_a_third_is_refuted(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not told_apart(0.3, monkeypatch).holds


def test_a_score_is_the_log_odds_of_what_was_seen() -> None:
    score = learn(coins(0.6, 0), coins(0.4, 1))
    ones, zeros = (score(Transcripts(np.full((1, 5), value)))[0] for value in (1, 0))
    assert ones == pytest.approx(5 * math.log(1.5), rel=0.1)
    assert zeros == pytest.approx(-ones, rel=0.2)
