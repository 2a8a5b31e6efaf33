"""How many queries a unit pays for, as a number that messages hold."""

import pytest

from ostraka.common.mechanism import GnMax
from ostraka.common.privacy import ONE_VOTE
from ostraka.guardian.sessions import planned_voters
from ostraka.guardian.sessions.planned_voters import queries_paid
from tests.guardian.federation import plan
from tests.guardian.sessions.people import budget


def test_so_many_queries_are_told_apart_from_more(monkeypatch: pytest.MonkeyPatch) -> None:
    asked, unit = plan(mechanism=GnMax(sigma=4.0)), budget("a")
    paid = queries_paid(asked, unit, ONE_VOTE, 10**14)
    assert paid > 1
    monkeypatch.setattr(planned_voters, "MAX_QUERIES", paid)
    assert queries_paid(asked, unit, ONE_VOTE, 10**14) == queries_paid(asked, unit, ONE_VOTE, 10**15) == paid
