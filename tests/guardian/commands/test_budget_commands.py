"""`ostraka guardian budget` and `consent`, with what a party signs for them."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from ostraka.common.config import SiteConfig, write_site
from ostraka.common.errors import OstrakaError
from ostraka.guardian.cli import app
from ostraka.guardian.commands import operation_commands
from ostraka.guardian.commands.budget_commands import COLUMNS
from ostraka.guardian.ledger.store.values import UnitKey
from ostraka.services.cli import app as party_app
from tests.guardian.admin.support import label
from tests.guardian.commands.conftest import Admin
from tests.guardian.federation import FEDERATION, PARTIES, Federation
from tests.guardian.training import ALLOWING, TTAC, Lead, training, updates

WHY = ("--reason", "a new study")
UNIT = ("--party", "a", "--group", "all")


@pytest.fixture
def party(federation: Federation) -> Path:
    """Return the site folder of party a."""
    folder = federation.root / "a-party"
    write_site(
        SiteConfig(
            federation=FEDERATION,
            site="a",
            role="party",
            listen="127.0.0.1:0",
            guardian="127.0.0.1:1",
            folder=folder,
        )
    )
    return folder


def sign(party: Path, out: Path, command: str, *words: object) -> Result:
    asked = [command, "--site", party, "--group", "all", "--out", out, *words]
    return CliRunner().invoke(party_app, [str(word) for word in asked])


def test_a_budget_is_raised_as_its_party_signed(admin: Admin, party: Path, tmp_path: Path) -> None:
    agreement = tmp_path / "raise.pb"
    shown = admin.json("budget", "show", "--party", "a")["budgets"][0]
    words = ("--epsilon-before", shown["epsilon"], "--epsilon", 1500, "--number", shown["agreements"])
    signed = sign(party, agreement, "sign-raise", *words, "--json", "-")
    assert signed.exit_code == 0
    assert json.loads(signed.stdout)["action"] == "raise"
    raised = admin.json("budget", "grant", "--agreement", agreement, *WHY)["budgets"][0]
    assert (raised["epsilon"], raised["agreements"]) == (1500, 1)
    assert raised["broken_unix_s"] > 0
    assert admin.refused("budget", "grant", "--agreement", agreement, *WHY).code == "agreement.invalid"


@pytest.mark.heavy
def test_a_withdrawn_group_comes_back_as_its_party_signed(admin: Admin, party: Path, tmp_path: Path) -> None:
    agreement = tmp_path / "consent.pb"
    assert admin.json("consent", "withdraw", *UNIT, *WHY)["budgets"][0]["state"] == "withdrawn"
    assert "sign-consent" in admin.refused("consent", "set", *UNIT, "--level", "low").message
    assert "agrees about a/all (record)" in sign(party, agreement, "sign-consent", "--number", 0).stdout
    assert admin.json("budget", "grant", "--agreement", agreement, *WHY)["budgets"][0]["state"] == "active"


@pytest.mark.parametrize(
    ("before", "after", "more", "told"),
    [
        (5, "5", (), "is no raise"),
        (0, "5", (), "is no raise"),
        (4, "inf", (), "is no raise"),
        (4, "5", ("--adjacency", "person"), "--adjacency"),
    ],
)
def test_what_is_no_raise_is_not_signed(
    party: Path, tmp_path: Path, before: int, after: str, more: tuple[str, ...], told: str
) -> None:
    agreement = tmp_path / "raise.pb"
    words = ("--epsilon-before", before, "--epsilon", after, "--number", 0, *more)
    refused = sign(party, agreement, "sign-raise", *words).exception
    assert isinstance(refused, OstrakaError)
    assert told in refused.message
    assert not agreement.exists()


def test_an_agreement_names_its_unit_as_the_ledger_does(party: Path, tmp_path: Path) -> None:
    """What the unit's epsilons protect, persons or records, only the guardian knows."""
    words = ("--epsilon-before", 4, "--epsilon", 5, "--number", 0)
    signed = sign(party, tmp_path / "raise.pb", "sign-raise", *words)
    assert f"agrees about {UnitKey('a', 'all', 'record')}, number 0" in signed.stdout


def test_a_raise_of_no_number_is_a_usage_error(party: Path, tmp_path: Path) -> None:
    agreement = tmp_path / "raise.pb"
    words = ("--epsilon-before", 4, "--epsilon", 5, "--number", -1)
    assert sign(party, agreement, "sign-raise", *words).exit_code == 2
    assert not agreement.exists()


@pytest.mark.heavy
def test_consent_levels_have_the_policys_epsilon(admin: Admin) -> None:
    lowered = admin.json("consent", "set", *UNIT, "--level", "low")["budgets"][0]
    assert (lowered["epsilon"], lowered["level"]) == (5, "low")
    assert admin.refused("consent", "set", *UNIT, "--level", "high").code == "budget.raise_refused"
    assert admin.refused("consent", "set", *UNIT, "--level", "other").code == "consent.unknown"


@pytest.mark.heavy
def test_freeze_thaw_and_history(admin: Admin) -> None:
    session = label(admin.calls)
    assert admin.json("budget", "freeze", *UNIT, *WHY)["budgets"][0]["state"] == "frozen"
    assert admin.json("budget", "thaw", *UNIT, *WHY)["budgets"][0]["state"] == "active"
    events = admin.json("budget", "history", *UNIT)["events"]
    assert [event["kind"] for event in events] == ["set", "charged", "frozen", "thawed"]
    text = admin.text("budget", "history", *UNIT)
    assert f"session {session} batch 1" in text
    assert "a new study" in text


def test_what_is_no_agreement(admin: Admin, tmp_path: Path) -> None:
    assert admin.refused("budget", "grant", "--agreement", tmp_path / "none", *WHY).code == "data.missing"
    junk = tmp_path / "junk"
    junk.write_bytes(b"\xff\xff\xff")
    assert admin.refused("budget", "grant", "--agreement", junk, *WHY).code == "data.unreadable"


def test_the_table_says_what_a_raise_needs(admin: Admin) -> None:
    text = admin.text("budget", "show", "--wide")
    for word in ("epsilon", "agreements", "state", "level", "broken since", "worst-case epsilon"):
        assert word in text


def test_the_table_fits_a_terminal_and_cuts_nothing(admin: Admin, monkeypatch: pytest.MonkeyPatch) -> None:
    admin.json("budget", "freeze", *UNIT, *WHY)
    monkeypatch.setenv("COLUMNS", "80")
    shown = admin.run("budget", "show").stdout
    assert max(map(len, shown.splitlines())) <= 80
    assert "…" not in shown
    heads, cells = shown.splitlines()[1], shown.splitlines()[3]
    assert [head.strip(" ┃") for head in heads.split("┃")[1:-1]] == list(COLUMNS)
    assert "frozen" in cells


def test_a_change_is_told_in_one_sentence(admin: Admin) -> None:
    spent = "spent 0 of 7, left 7 (worst case)."
    assert admin.run("budget", "set", *UNIT, "--epsilon", 7).stdout == (
        f"a/all (DP for records): epsilon 7 set, delta 1e-5; {spent}\n"
    )
    assert admin.run("budget", "freeze", *UNIT, *WHY).stdout == f"a/all (DP for records): frozen; {spent}\n"


@pytest.mark.parametrize("command", [("budget", "set", "--epsilon", 7), ("consent", "set", "--level", "low")])
def test_a_party_that_nobody_knows_is_a_question(admin: Admin, command: tuple[object, ...]) -> None:
    words = (*command, "--party", "alpha", "--group", "all")
    refusal = admin.refused(*words)
    assert refusal.code == "party.unknown"
    assert "It knows a, b, c." in refusal.message
    assert not [unit for unit in admin.json("budget", "show")["budgets"] if unit["party"] == "alpha"]
    assert admin.json(*words, "--new")["budgets"][0]["party"] == "alpha"


@pytest.mark.parametrize(("answer", "parties"), [("y", ["a", "b", "c", "d"]), ("n", ["a", "b", "c"])])
def test_somebody_at_a_terminal_is_asked_about_it(
    admin: Admin, monkeypatch: pytest.MonkeyPatch, answer: str, parties: list[str]
) -> None:
    monkeypatch.setattr(operation_commands, "is_terminal", lambda: True)
    words = ["budget", "set", "--party", "d", "--epsilon", "7", "--site", str(admin.site)]
    asked = CliRunner().invoke(app, words, input=answer)
    assert "Set it for a party that has not registered yet? [y/N]" in asked.stderr
    assert [unit["party"] for unit in admin.json("budget", "show")["budgets"]] == parties


@pytest.mark.heavy
def test_budgets_of_records_that_went_into_ttac_are_marked(admin: Admin, federation: Federation) -> None:
    assert "no formal guarantee" not in admin.text("budget", "show")
    lead = Lead(federation, admin.calls.address)
    for site in PARTIES:
        lead.register(site, together="ttac")
    lead.apply_policy(ALLOWING)
    session = lead.begin(training(TTAC, parties=("a", "b")))
    lead.ticket(session, 1, 1)
    lead.sum(session, 1, lead.trained(session, 1, updates(2), "ab"))
    lead.close()
    shown = admin.json("budget", "show")["budgets"]
    assert {unit["party"]: unit["unguaranteed"] for unit in shown} == {"a": True, "b": True, "c": False}
    assert admin.text("budget", "show").count("no formal guarantee") == 2
    frozen = admin.json("budget", "freeze", *UNIT, *WHY)["budgets"]
    assert [unit["unguaranteed"] for unit in frozen] == [True]
