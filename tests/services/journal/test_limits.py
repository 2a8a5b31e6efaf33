"""How many queries of one querying party a party answers in 24 hours."""

from dataclasses import replace
from pathlib import Path

import pytest

from ostraka.common.clock import ManualClock, SystemClock
from ostraka.common.datasets import digits
from ostraka.common.errors import OstrakaError
from ostraka.common.identity import Role
from ostraka.common.mechanism import GnMax
from ostraka.services.admission.policy import PartyPolicy
from ostraka.services.journal.journal import Journal
from ostraka.services.journal.limits import DAY_S, GroupCharge, QueryCount
from tests.services.wire import Ask, Caller, Federation

DELPHI = "ostraka://attica/delphi/query"
DODONA = "ostraka://attica/dodona/query"


def charged(queries: int) -> list[GroupCharge]:
    return [GroupCharge(GnMax(sigma=40.0), queries=queries, classes=10)]


def record(journal: Journal, batch: int, queries: int, now: float, querier: str = DELPHI) -> None:
    journal.record("s", batch, charged(queries), QueryCount(querier, queries), now)


def refused(journal: Journal, queries: int, now: float, querier: str = DELPHI) -> str:
    """How many are left, as a refusal tells; both ways to ask refuse alike."""
    with pytest.raises(OstrakaError) as early:
        journal.check(charged(queries), QueryCount(querier, queries), now)
    with pytest.raises(OstrakaError) as late:
        record(journal, 99, queries, now, querier)
    assert early.value.code == late.value.code == "policy.daily_limit"
    assert early.value.details == late.value.details
    assert not journal.holds("s", 99)
    return early.value.details["left"]


def test_a_day_counts_each_querying_party_by_itself_and_outlives_a_restart(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    with Journal(path, queries_per_day=10) as journal:
        record(journal, 1, 6, now=1000.0)
        record(journal, 2, 10, now=1000.0, querier=DODONA)
    with Journal(path, queries_per_day=10) as journal:
        assert refused(journal, 5, now=2000.0) == "4"
        record(journal, 3, 4, now=2000.0)
        assert refused(journal, 1, now=2000.0) == "0"
        assert refused(journal, 1, now=2000.0, querier=DODONA) == "0"


def test_queries_count_for_24_hours_and_a_clock_that_went_back_forgets_none(tmp_path: Path) -> None:
    with Journal(tmp_path / "journal.db", queries_per_day=10) as journal:
        record(journal, 1, 10, now=DAY_S)
        assert refused(journal, 1, now=2 * DAY_S - 1) == "0"
        assert refused(journal, 1, now=0.0) == "0"
        record(journal, 2, 10, now=2 * DAY_S)


def test_a_smaller_limit_leaves_nothing_and_none_leaves_everything(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    with Journal(path) as journal:
        record(journal, 1, 1000, now=1.0)
    with Journal(path, queries_per_day=10) as journal:
        assert refused(journal, 1, now=2.0) == "0"


def test_a_batch_in_which_no_teacher_votes_is_remembered_too(tmp_path: Path) -> None:
    with Journal(tmp_path / "journal.db") as journal:
        journal.record("s", 1, [], QueryCount(DELPHI, 5), 1.0)
        assert journal.holds("s", 1)
        with pytest.raises(OstrakaError, match="restarted"):
            journal.record("s", 1, [], QueryCount(DELPHI, 5), 1.0)


@pytest.mark.parametrize("limit", [0, -1, 1.5])
def test_a_limit_that_is_none_is_refused(limit: float) -> None:
    with pytest.raises(ValueError, match="queries_per_day"):
        PartyPolicy.model_validate({"queries_per_day": limit})


def ask(caller: Caller, batch: int, queries: int) -> Ask:
    X = caller.federation.task.prepare(digits().X[:queries])
    return replace(caller.ask(X, batch), grant=caller.grant(expires_unix_s=2**37))


def code(caller: Caller, asked: Ask) -> str:
    with pytest.raises(OstrakaError) as refusal:
        caller.vote(asked)
    return refusal.value.code


def test_a_serving_party_refuses_before_it_votes_and_goes_on_a_day_later(attica: Federation) -> None:
    attica.set_policy(queries_per_day=10)
    clock = ManualClock(SystemClock().now())
    with attica.serving(clock) as caller:
        first = ask(caller, 1, 8)
        answered = caller.vote(first)
        assert code(caller, ask(caller, 2, 3)) == "policy.daily_limit"
        assert caller.vote(first) == answered
    with attica.serving(clock) as caller:
        assert code(caller, ask(caller, 2, 3)) == "policy.daily_limit"
        caller.vote(ask(caller, 3, 2))
        clock.advance(DAY_S)
        caller.vote(ask(caller, 4, 10))
    assert [batch for _, batch, _, _ in attica.guardian.submissions] == [1, 3, 4]


def test_another_querying_party_has_a_day_of_its_own(attica: Federation) -> None:
    attica.set_policy(queries_per_day=10)
    dodona = attica.issue("dodona", Role.QUERY)
    with attica.serving() as caller, attica.calling(caller.address, dodona) as other:
        caller.vote(ask(caller, 1, 10))
        grant = other.grant(querier=dodona.identity.uri, session_id="other")
        ticket = other.ticket(1, 10, session_id="other")
        assert code(caller, ask(caller, 2, 1)) == "policy.daily_limit"
        other.vote(replace(ask(other, 1, 10), grant=grant, ticket=ticket))
    assert len(attica.guardian.submissions) == 2
