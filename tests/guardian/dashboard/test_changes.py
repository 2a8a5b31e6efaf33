"""Every change by the console: confirmed, reasoned, logged, or refused in a sentence."""

import json
from typing import Any

import pytest

from ostraka.protos.ostraka.v1 import admin_pb2
from tests.guardian.admin.support import agree
from tests.guardian.dashboard.browsing import Browser, hidden, problem
from tests.guardian.federation import Calls, Federation

UNIT: dict[str, Any] = {"party": "a", "group": "all", "adjacency": "record"}


def logged(guardian: Calls) -> dict[str, Any]:
    """Return the latest row of the audit log."""
    *_, row = guardian.admin.ExportAudit(admin_pb2.ExportAuditRequest())
    found: dict[str, Any] = json.loads(row.payload)
    return found


@pytest.mark.heavy
def test_a_budget_is_lowered_after_a_confirmation(editor: Browser, guardian: Calls) -> None:
    shown = editor.post("/change/budget", epsilon="900", reason="fewer records", **UNIT)
    assert guardian.budgets("a")["all"].epsilon == 1000
    assert "<td>1000</td><td><b>900</b></td>" in shown.text
    applied = editor.post("/change/budget/apply", 303, **hidden(shown.text))
    assert applied.headers["location"] == "/party/a?done=budget"
    assert "The budget was set." in editor.text("/party/a?done=budget")
    row = logged(guardian)
    assert (row["kind"], row["epsilon"], row["reason"]) == ("budget_set", 900, "fewer records")
    assert "fewer records" in editor.text("/audit")
    assert "fewer records" in editor.text("/party/a")


@pytest.mark.heavy
def test_a_signed_raise_is_applied_once(editor: Browser, guardian: Calls, federation: Federation) -> None:
    signed = agree(federation).SerializeToString()
    assert (
        editor.change("grant", "a new study", agreement=signed).headers["location"] == "/party/a?done=grant"
    )
    assert (logged(guardian)["kind"], logged(guardian)["reason"]) == ("budget_raised", "a new study")
    shown = editor.post("/change/grant", reason="again", agreement=signed)
    refused = editor.post("/change/grant/apply", 400, **hidden(shown.text))
    assert "bears number 0" in problem(refused.text)
    assert "no longer covers its lifetime" in editor.text("/")


@pytest.mark.heavy
def test_nobody_but_the_party_signs(editor: Browser, guardian: Calls, federation: Federation) -> None:
    signed = agree(federation, "b").SerializeToString()
    shown = editor.post("/change/grant", reason="a try", agreement=signed)
    refused = editor.post("/change/grant/apply", 400, **hidden(shown.text))
    assert "signed by b" in problem(refused.text)
    assert guardian.budgets("a")["all"].epsilon == 1000


@pytest.mark.heavy
def test_a_file_that_is_no_agreement(editor: Browser) -> None:
    for content in (b"\xff\xff", b"\x0a\x02\xff\xff", b" "):
        refused = editor.post("/change/grant", 400, reason="a try", agreement=content)
        assert problem(refused.text).startswith("The file is not a signed agreement")
    refused = editor.post("/change/grant", 400, reason="a try")
    assert problem(refused.text).startswith("Signed agreement is missing")


@pytest.mark.heavy
def test_units_are_frozen_thawed_and_withdrawn(
    editor: Browser, guardian: Calls, federation: Federation
) -> None:
    for name, kind, state in (
        ("freeze", "unit_frozen", "frozen"),
        ("thaw", "unit_thawed", "active"),
        ("withdraw", "unit_withdrawn", "withdrawn"),
    ):
        editor.change(name, f"to {name}", **UNIT)
        assert guardian.budgets("a")["all"].state == state
        assert (logged(guardian)["kind"], logged(guardian)["reason"]) == (kind, f"to {name}")
    signed = agree(federation, action="consent").SerializeToString()
    editor.change("grant", "she consents again", agreement=signed)
    assert guardian.budgets("a")["all"].state == "active"


@pytest.mark.heavy
def test_a_consent_level_is_set(editor: Browser, guardian: Calls) -> None:
    assert ">low</option>" in editor.text("/change/consent?party=a&group=all&adjacency=record")
    editor.change("consent", "as she asked", level="low", **UNIT)
    budget = guardian.budgets("a")["all"]
    assert (budget.level, budget.epsilon, logged(guardian)["reason"]) == ("low", 5, "as she asked")
    refused = editor.post("/change/consent", 400, reason="more", level="high", **UNIT)
    assert "only lower it" in problem(refused.text)


@pytest.mark.heavy
def test_parties_are_suspended_resumed_and_removed(editor: Browser, guardian: Calls) -> None:
    for name, state in (("suspend", "suspended"), ("resume", "active"), ("remove", "removed")):
        editor.change(name, f"to {name}", party="b")
        (info,) = guardian.admin.ListParties(admin_pb2.ListPartiesRequest(party="b"))
        assert info.state == state
        assert logged(guardian)["reason"] == f"to {name}"


@pytest.mark.heavy
def test_a_session_is_cancelled(editor: Browser, guardian: Calls) -> None:
    session = guardian.open().session_id
    assert f"/change/cancel?session={session}" in editor.text(f"/session/{session}")
    editor.change("cancel", "a mistake", session=session)
    assert (logged(guardian)["kind"], logged(guardian)["reason"]) == ("session_ended", "a mistake")
    assert "The session was cancelled." in editor.text(f"/session/{session}?done=cancel")


@pytest.mark.heavy
def test_what_changed_since_it_was_confirmed_is_shown_again(editor: Browser, guardian: Calls) -> None:
    shown = editor.post("/change/budget", epsilon="900", reason="fewer records", **UNIT)
    guardian.budget("a", 950)
    again = editor.post("/change/budget/apply", 200, **hidden(shown.text))
    assert "It changed meanwhile" in problem(again.text)
    assert guardian.budgets("a")["all"].epsilon == 950
    editor.post("/change/budget/apply", 303, **hidden(again.text))
    assert guardian.budgets("a")["all"].epsilon == 900


@pytest.mark.heavy
def test_a_form_that_cannot_be_meant_comes_back_with_its_values(editor: Browser, guardian: Calls) -> None:
    for values, sentence in (
        ({"reason": ""}, "A reason must be one line"),
        ({"reason": "x" * 1001}, "A reason must be one line"),
        ({"epsilon": ""}, "Epsilon is missing"),
        ({"epsilon": "much"}, "The epsilon must be a number"),
        ({"epsilon": "nan"}, "The epsilon must be a finite number"),
        ({"epsilon": "-1"}, "The epsilon must be a finite number"),
        ({"epsilon": "2000"}, "an administrator alone can only lower it"),
        ({"party": ""}, "Party is missing"),
        ({"party": "A B"}, "The party's name is invalid"),
        ({"adjacency": "person"}, "What differs must be"),
    ):
        sent = {**UNIT, "epsilon": "900", "reason": "fewer records", **values}
        refused = editor.post("/change/budget", 400, **sent)
        assert sentence in problem(refused.text)
        assert f'value="{sent["reason"]}"' in refused.text
    assert guardian.budgets("a")["all"].epsilon == 1000


@pytest.mark.heavy
def test_what_is_no_change(editor: Browser) -> None:
    assert "has no such change" in problem(editor.text("/change/policy", 400))
    refused = editor.post("/change/freeze", 400, reason="a try", **UNIT | {"group": "none"})
    assert "has no budget" in problem(refused.text)
