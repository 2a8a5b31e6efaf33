"""Noise that this party adds to its ballots: on every count, drawn once for a batch, of the plan's width."""

from dataclasses import replace

import numpy as np
import pytest

from ostraka.common.datasets import digits
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.mechanism import DistributedGnMax
from ostraka.common.noise import self_test
from ostraka.common.noise.self_test import open_exact_noise
from ostraka.common.sharing.ballots import single_label
from ostraka.services.journal.journal import Journal
from ostraka.services.journal.limits import GroupCharge
from ostraka.services.teachers import Ensemble
from tests.common.noise.laws import GAUSSIAN, fits
from tests.services.wire import Federation, participant, scheduled

NOISED = DistributedGnMax(sigma=8.0, honest=1)
PARTIES = ("athens", "sparta")


@pytest.fixture
def noised(attica: Federation) -> Federation:
    attica.replan(mechanism=NOISED, parties=PARTIES, quorum=2)
    return attica


def test_shares_add_up_to_votes_and_noise_of_its_law(noised: Federation) -> None:
    X = noised.task.prepare(digits().X[:300])
    with noised.serving() as caller:
        found = caller.ballots(caller.vote(caller.ask(X)))
    votes = single_label(Ensemble.load(noised.party / "teachers").predict(X), noised.plan.classes)
    added = np.round((found - votes) * 2**16).astype(np.int64)
    assert fits(added.ravel(), GAUSSIAN, 8.0 * 2**16)
    with Journal(noised.party / "journal.db") as journal:
        assert journal.amount_spent(8.0) == GroupCharge(NOISED, 300, 10).amount(8.0)


def test_a_retry_has_the_same_noise_and_another_batch_has_its_own(noised: Federation) -> None:
    X = noised.task.prepare(digits().X[:5])
    with noised.serving() as caller:
        first, again = (caller.vote(caller.ask(X)) for _ in range(2))
        assert first == again
        assert len(noised.guardian.submissions) == 1
        one = caller.ballots(first)
        other = caller.ballots(caller.vote(caller.ask(X, batch_id=2)), batch_id=2)
    assert (one != other).all()


def test_queries_on_which_nobody_here_votes_hold_noise_too(noised: Federation) -> None:
    X = noised.task.prepare(digits().X[:8])
    with noised.serving() as caller:
        first = scheduled(participant("athens"), b"\x80")
        ask = replace(caller.ask(X), ticket=caller.ticket(1, 8, schedule=[first]))
        assert caller.ballots(caller.vote(ask)).all()


def test_a_sampler_that_fails_its_test_keeps_a_party_from_voting(
    noised: Federation, monkeypatch: pytest.MonkeyPatch
) -> None:
    X = noised.task.prepare(digits().X[:5])
    monkeypatch.setattr(self_test, "_KNOWN", "another")
    open_exact_noise.cache_clear()
    with noised.serving() as caller, pytest.raises(OstrakaError) as refused:
        caller.vote(caller.ask(X))
    assert refused.value.code is ErrorCode.NOISE_SELF_TEST
    with Journal(noised.party / "journal.db") as journal:
        assert not journal.holds("session", 1)
