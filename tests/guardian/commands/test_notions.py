"""What every epsilon that the guardian's commands show promises, in words."""

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from ostraka.common.identity import Role
from ostraka.guardian.admin.confidential import totals
from ostraka.guardian.cli import app
from tests.guardian.admin.support import label
from tests.guardian.commands.conftest import Admin
from tests.guardian.federation import PARTIES, Federation
from tests.guardian.test_label_dp import DRAWN, asked, drawn_votes

NOTIONS = {"record": "DP for records", "label": "label-DP"}
PLAN = ["plan", "--classes", "10", "--parties", "5", "--epsilon", "8"]


@pytest.fixture
def charged(admin: Admin) -> Admin:
    """Everybody was charged for records, and for labels drawn anew."""
    for site in PARTIES:
        admin.calls.budget(site, 100.0, adjacency="label")
    label(admin.calls)
    asked(admin.calls, DRAWN, drawn_votes(), nonce=b"m" * 16)
    return admin


def planned(*words: str) -> Any:
    result = CliRunner().invoke(app, [*PLAN, *words])
    assert result.exit_code == 0, result.exception
    return result.stdout


@pytest.mark.heavy
def test_budgets_say_what_they_protect(charged: Admin) -> None:
    shown = charged.json("budget", "show", "--party", "a")["budgets"]
    assert {budget["adjacency"]: budget["notion"] for budget in shown} == NOTIONS
    text = charged.text("budget", "show", "--party", "a")
    assert all(notion in text for notion in NOTIONS.values())


@pytest.mark.heavy
@pytest.mark.parametrize("adjacency", NOTIONS)
def test_a_units_history_says_what_its_epsilons_are(charged: Admin, adjacency: str) -> None:
    unit = ("--party", "a", "--adjacency", adjacency)
    assert charged.json("budget", "history", *unit)["notion"] == NOTIONS[adjacency]
    assert f"epsilon ({NOTIONS[adjacency]})" in charged.text("budget", "history", *unit)


@pytest.fixture
def member(federation: Federation) -> str:
    """Issue keys to a party that the guardian, started after this, serves and that has not registered."""
    federation.issue("d", Role.PARTY, federation.root / "d-party")
    return "d"


@pytest.mark.heavy
def test_who_always_kept_persons_whole_is_told_so(member: str, admin: Admin) -> None:
    admin.calls.register(member, whole_persons=True)
    admin.calls.budget(member, 5.0)
    unit = ("--party", member)
    assert admin.json("budget", "show", *unit)["budgets"][0]["notion"] == "DP for persons"
    assert admin.json("budget", "history", *unit)["notion"] == "DP for persons"
    assert "d/all (DP for persons)" in admin.text("budget", "show", *unit)
    assert "epsilon (DP for persons)" in admin.text("budget", "history", *unit)
    assert "a/all (DP for records)" in admin.text("budget", "show")


@pytest.mark.heavy
def test_a_sessions_charges_say_what_they_protect(charged: Admin) -> None:
    drawn, voted = (
        next(
            row["session_id"] for row in charged.json("session", "list")["sessions"] if row["queries"] == size
        )
        for size in (5, 40)
    )
    for session, notions in ((drawn, {"label-DP"}), (voted, set(NOTIONS.values()))):
        assert {row["notion"] for row in charged.json("session", "show", session)["charges"]} == notions
        text = charged.text("session", "show", session)
        assert all(f"a/all ({notion})" in text for notion in notions)
    assert "DP for records" not in charged.text("session", "show", drawn)


@pytest.mark.heavy
def test_a_report_says_what_every_epsilon_protects(charged: Admin, tmp_path: Path) -> None:
    page, values = tmp_path / "report.html", tmp_path / "report.json"
    charged.text("report", "--out", page, "--json", values)
    found = json.loads(values.read_text())
    for budget in found["budgets"]:
        assert budget["notion"] == NOTIONS[budget["adjacency"]]
    for charge in found["charges"]:
        assert charge["notion"] == NOTIONS[charge["unit"][2]]
    text = " ".join(page.read_text().split())
    for site in PARTIES:
        assert text.count(f"<td>{site}/all (label-DP)</td>") == 3
        assert text.count(f"<td>{site}/all (DP for records)</td>") == 2
    assert "counts for no record, and says nothing about features" in text


@pytest.mark.heavy
def test_confidential_totals_say_what_they_protect(charged: Admin) -> None:
    found = totals(charged.site.parent / "guardian-guardian")
    assert {unit["adjacency"]: unit["notion"] for unit in found} == NOTIONS


@pytest.mark.parametrize(
    ("words", "notion"),
    [
        (("--mechanism", "gnmax:sigma=20"), "DP for records"),
        (("--mechanism", "gnmax:sigma=20", "--adjacency", "label"), "label-DP"),
        (("--mechanism", "rand_res:epsilon=1"), "label-DP"),
    ],
)
def test_a_plan_says_what_its_epsilon_protects(
    words: tuple[str, ...], notion: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "250")
    assert json.loads(planned(*words, "--json", "-"))["notion"] == notion
    assert f"({notion})" in " ".join(planned(*words).split())


def test_a_plan_for_nothing_known_is_refused() -> None:
    result = CliRunner().invoke(app, [*PLAN, "--mechanism", "gnmax:sigma=20", "--adjacency", "person"])
    assert "must be record or label" in str(result.exception)


def test_a_party_says_whether_its_teachers_protect_labels_alone(admin: Admin) -> None:
    assert "protect only labels" not in admin.text("party", "show", "a")
    admin.calls.register("a", shared_features=True)
    assert "protect only labels (label-DP)" in admin.text("party", "show", "a")
    assert admin.json("party", "show", "a")["parties"][0]["shared_features"] is True
