"""Whole sessions of sums: what they tell an adversary is close to what is charged, and never more."""

import pytest

from ostraka.common.mechanism import MECHANISMS
from ostraka.guardian.noise import ExactNoise
from tests.privacy.evidence import P
from tests.privacy.faults import Halved, Narrow
from tests.privacy.sums import DELTA, SESSIONS, SumSession, attack_sums

TRANSCRIPTS = 4_000
MANY_TRANSCRIPTS = 20_000


def test_every_sum_is_audited() -> None:
    sums = {kind for kind, known in MECHANISMS.items() if known.sums_records}
    assert {session.mechanism.kind for session in SESSIONS} == sums


@pytest.mark.parametrize("session", SESSIONS, ids=str)
def test_sessions_tell_nearly_what_is_charged_and_no_more(session: SumSession) -> None:
    found = attack_sums(session, TRANSCRIPTS, ExactNoise(), DELTA)
    assert found.chance > P
    assert found.least <= found.claimed
    assert 0.98 * found.claimed < found.exact <= found.claimed, "the attack is as good as can be"


@pytest.mark.heavy
@pytest.mark.parametrize("session", SESSIONS, ids=str)
def test_too_little_noise_is_found(session: SumSession) -> None:
    halved = attack_sums(session, MANY_TRANSCRIPTS, Halved(), DELTA)
    assert halved.least > halved.claimed
    assert attack_sums(session, MANY_TRANSCRIPTS, Narrow(), DELTA).chance < P
