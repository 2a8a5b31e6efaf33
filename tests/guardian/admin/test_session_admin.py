"""Sessions and charges through the admin service."""

import pytest

from ostraka.guardian.admin.exports import rows_of
from ostraka.protos.ostraka.v1 import admin_pb2
from tests.guardian.admin.support import budget, label
from tests.guardian.federation import PARTIES, Calls, plan, refusal, unanimous


def show(guardian: Calls, session: str) -> admin_pb2.ShowSessionReply:
    return guardian.admin.ShowSession(admin_pb2.ShowSessionRequest(session_id=session))


def charges(guardian: Calls, **changes: object) -> list[admin_pb2.ChargeRow]:
    return list(rows_of(guardian.admin.ListCharges(admin_pb2.ListChargesRequest(**changes))))  # type: ignore[arg-type]


def cancel(guardian: Calls, session: str, reason: str = "a mistake") -> admin_pb2.SessionSummary:
    request = admin_pb2.CancelSessionRequest(session_id=session, reason=reason)
    return guardian.admin.CancelSession(request).session


def test_a_session_is_shown_with_its_terms_and_charges(guardian: Calls) -> None:
    session = label(guardian)
    found = show(guardian, session)
    assert (found.session.state, found.session.asked, found.session.answered) == ("open", 20, 20)
    assert found.session.querier == "ostraka://test/q/query"
    assert found.mechanism == "confident: sigma1 2, sigma2 1, threshold 15"
    assert (found.variant, found.enforce, found.bound) == ("none", "worst_case", "worst_case")
    assert tuple(found.parties) == PARTIES
    assert sorted(row.party for row in charges(guardian, session_id=session)) == list(PARTIES)
    assert charges(guardian, session_id="another") == []


@pytest.mark.heavy
def test_charges_add_up_to_what_budgets_say(guardian: Calls) -> None:
    session = label(guardian)
    label(guardian, batch=2)
    first, second = charges(guardian, party="a")
    assert (first.batch_id, second.batch_id, second.session_id) == (1, 2, session)
    assert first.epsilon == first.epsilon_worst_case > 0
    assert second.epsilon_worst_case == budget(guardian).epsilon_worst_case
    assert second.epsilon_worst_case > second.epsilon == pytest.approx(first.epsilon)
    assert (first.querier, first.enforce, first.bound) == (
        "ostraka://test/q/query",
        "worst_case",
        "worst_case",
    )
    assert first.mechanism.startswith("confident")
    assert len(charges(guardian)) == 6


@pytest.mark.heavy
def test_charges_of_a_time(guardian: Calls) -> None:
    label(guardian)
    label(guardian, batch=2)
    first, second = charges(guardian, party="a")
    later = second.time_unix_ms
    until = charges(guardian, party="a", to_unix_ms=later)
    assert [row.batch_id for row in until] == ([1] if first.time_unix_ms < later else [])
    since = charges(guardian, party="a", from_unix_ms=later)
    assert since[-1] == second
    assert charges(guardian, from_unix_ms=later + 1) == []
    assert refusal(lambda: charges(guardian, from_unix_ms=2, to_unix_ms=1)) == "message.invalid"
    assert refusal(lambda: charges(guardian, from_unix_ms=-1)) == "message.invalid"


@pytest.mark.heavy
def test_a_cancelled_session_charges_nothing_more(guardian: Calls) -> None:
    session = label(guardian)
    spent = guardian.spent()
    guardian.ticket(session, 2, 20)
    total = guardian.vote(session, 2, unanimous(20))
    assert budget(guardian).epsilon_reserved > 0
    assert cancel(guardian, session).state == "ended"
    assert refusal(lambda: guardian.release(session, 2, total)) in {"batch.dead", "session.ended"}
    assert (guardian.spent(), budget(guardian).epsilon_reserved) == (spent, 0)
    assert cancel(guardian, session).state == "ended"


def test_a_session_nobody_opened(guardian: Calls) -> None:
    guardian.open(plan())
    assert refusal(lambda: show(guardian, "none")) == "session.unknown"
    assert refusal(lambda: cancel(guardian, "none")) == "session.unknown"
    assert refusal(lambda: show(guardian, "")) == "message.invalid"


def test_cancelling_needs_a_reason(guardian: Calls) -> None:
    session = guardian.open().session_id
    assert refusal(lambda: cancel(guardian, session, "")) == "message.invalid"
    assert show(guardian, session).session.state == "open"
