"""`ostraka guardian session`."""

from tests.guardian.admin.support import label
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


def test_a_session_nobody_opened(admin: Admin) -> None:
    assert admin.refused("session", "show", "none").code == "session.unknown"
