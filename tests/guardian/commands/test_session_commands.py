"""`ostraka guardian session`."""

from ostraka.guardian.admin.texts import unit_text
from ostraka.guardian.commands.session_commands import pair_units
from ostraka.protos.ostraka.v1 import admin_pb2
from tests.guardian.admin.support import add_up, label
from tests.guardian.commands.conftest import Admin


def test_list_show_and_cancel(admin: Admin) -> None:
    session = label(admin.calls)
    assert [found["session_id"] for found in admin.json("session", "list")["sessions"]] == [session]
    shown = admin.json("session", "show", session)
    assert shown["mechanism"].startswith("confident")
    assert [charge["party"] for charge in shown["charges"]] == ["a", "b", "c"]
    text = admin.text("session", "show", session)
    assert "20 of 20 queries answered" in text
    assert "Enforced: worst_case; bound: worst_case." in text
    ended = admin.json("session", "cancel", session, "--reason", "a mistake")["sessions"][0]
    assert ended["state"] == "ended"
    assert "ended" in admin.text("session", "list")


def test_sums_are_told_in_words(admin: Admin) -> None:
    session = add_up(admin.calls)
    text = admin.text("session", "show", session)
    assert "1 of 1 released, each a sum of 3 x 2 values for a model" in text
    assert "moments: columns 3, codes 2, sigma 2 (a sum of 3 x 2 values for a model)" in text
    assert "queries answered" not in text
    history = admin.text("budget", "history", "--party", "a", "--group", "all", "--adjacency", "record")
    assert f"session {session} batch 1, a sum of 3 x 2 values for a model" in history


def test_a_session_nobody_opened(admin: Admin) -> None:
    assert admin.refused("session", "show", "none").code == "session.unknown"


def test_a_charge_protects_what_the_budget_of_its_unit_does() -> None:
    charges = [admin_pb2.ChargeRow(party=site, group="all", adjacency="record") for site in "ab"]
    budgets = [
        admin_pb2.Budget(party=site, group="all", adjacency="record", whole_persons=site == "a")
        for site in "ab"
    ]
    told = [unit_text(kept) for _, kept in pair_units(charges, budgets)]
    assert told == ["a/all (DP for persons)", "b/all (DP for records)"]
