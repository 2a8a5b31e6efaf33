"""`ostraka guardian party`."""

import pytest

from tests.guardian.commands.conftest import Admin
from tests.guardian.federation import group

WHY = ("--reason", "by contract")


@pytest.mark.heavy
def test_add_list_and_show(admin: Admin) -> None:
    assert admin.json("party", "add", "delta", *WHY)["parties"][0]["state"] == "added"
    listed = admin.json("party", "list")["parties"]
    assert {info["site"]: info["state"] for info in listed} == {
        "a": "active",
        "b": "active",
        "c": "active",
        "delta": "added",
    }
    shown = admin.json("party", "show", "a")["parties"][0]
    assert [group["records"] for group in shown["groups"]] == [100]
    assert "delta" in admin.text("party", "list")
    assert "a is active since" in admin.text("party", "show", "a")
    assert "one person changes at most 1 vote of a query" in admin.text("party", "show", "a")
    admin.calls.register("a", groups=[group("all", summed_records=40)])
    assert "100, 40 in sums" in admin.text("party", "show", "a")


def test_suspend_and_resume(admin: Admin) -> None:
    assert admin.json("party", "suspend", "a", *WHY)["parties"][0]["state"] == "suspended"
    assert "suspended" in admin.text("party", "list")
    assert admin.json("party", "resume", "a", *WHY)["parties"][0]["state"] == "active"


@pytest.mark.heavy
def test_removing_is_final_and_asks_for_yes(admin: Admin) -> None:
    error = admin.refused("party", "remove", "a", *WHY)
    assert error.code == "config.invalid"
    assert "--yes" in error.message
    assert admin.json("party", "show", "a")["parties"][0]["state"] == "active"
    assert admin.json("party", "remove", "a", "--yes", *WHY)["parties"][0]["state"] == "removed"
    assert admin.refused("party", "resume", "a", *WHY).code == "party.removed"


def test_a_change_without_a_reason_is_a_usage_error(admin: Admin) -> None:
    for change in ("add", "suspend", "resume", "remove"):
        assert admin.run("party", change, "a").exit_code == 2
