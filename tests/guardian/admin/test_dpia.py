"""Figures of a federation for a data-protection impact assessment."""

import inspect
import json
import re
from types import SimpleNamespace
from typing import Any

import pytest

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.privacy.guessing import best_guess, most_detected
from ostraka.deploy.images.locks import ROOT
from ostraka.guardian.admin.dpia import EVENTS, Logged, meanings, read_assessment, render_markdown
from ostraka.guardian.ledger.log import accounts, replayed_ledger
from ostraka.protos.ostraka.v1 import admin_pb2, common_pb2

NOW = 1_700_000_000_000
UNIT: dict[str, Any] = {"party": "a", "group": "all", "adjacency": "record", "delta": 1e-5}
HEADING = re.compile(r"(?m)^## (.+)$")


def budget(epsilon: float = 1.0, **changes: Any) -> admin_pb2.Budget:
    """Return an unconditional budget."""
    return admin_pb2.Budget(**UNIT | {"epsilon": epsilon, "enforce": "worst_case"} | changes)


def guardian(**changes: Any) -> Any:
    """Return what answers as a guardian does that nobody has asked yet."""
    answers: dict[str, Any] = {
        "ExportAudit": [row(1, "created"), row(2, "policy_applied"), row(3, "policy_applied")],
        "ListParties": [admin_pb2.PartyInfo(site="a", state="added")],
        "ListSessions": [],
        "ListCharges": [],
        "ListBudgets": [budget()],
        "BudgetHistory": [],
        "ShowPolicy": admin_pb2.PolicyReply(toml="keep_answers_days = 90\n", version=2),
        "Head": common_pb2.AuditHead(sequence=3, hash=b"head"),
    }
    return SimpleNamespace(
        **{name: lambda _, reply=reply: reply for name, reply in (answers | changes).items()}
    )


def row(sequence: int, kind: str) -> admin_pb2.AuditRow:
    return admin_pb2.AuditRow(
        sequence=sequence, time_unix_ms=NOW + sequence, payload=json.dumps({"kind": kind})
    )


def page_of(**changes: Any) -> str:
    return render_markdown(read_assessment(guardian(**changes), "test", NOW, "1.3"))


def test_a_federation_before_its_first_question() -> None:
    found = read_assessment(guardian(), "test", NOW, "1.2")
    assert found.logged == {"policy_applied": Logged(2, NOW + 3)}
    page = render_markdown(found)
    for line in (
        "| a | added | not registered |",
        "| answers at the guardian | for 90 days after their release |",
        "| a policy was applied | 2 | 2023-11-14 22:13 |",
        "| Who has asked? | none |",
        "mutual TLS 1.2 or newer",
        "| noise source | not told by this version of the guardian |",
        f"| audit head | row 3, `{b'head'.hex()}` |",
    ):
        assert line in page
    assert "No party has registered" in page_of(ListParties=[])


def test_headings_are_those_of_the_example() -> None:
    example = HEADING.findall((ROOT / "docs" / "dpia.md").read_text())
    assert [heading for heading in HEADING.findall(page_of()) if heading not in example] == []


def test_what_a_budget_means_is_rounded_against_it() -> None:
    (meaning,) = meanings([budget(), budget(party="b")])
    assert (meaning.best_guess, meaning.most_detected) == (best_guess(1, 1e-5), most_detected(1, 1e-5, 0.05))
    assert 0.731 < meaning.best_guess < 0.732
    assert "| DP for records | 1 | 1e-5 | 73.2% | 13.6% |" in page_of()


def test_the_example_has_the_figures_of_the_report() -> None:
    example = (ROOT / "docs" / "dpia.md").read_text()
    shown = re.findall(r"(?m)^\| ([0-9.]+) \| ([0-9.]+%) \| ([0-9.]+%) \|$", example)
    budgets = [budget(float(epsilon)) for epsilon, *_ in shown]
    figures = re.findall(
        r"(?m)^\| DP for records \| (.+) \| 1e-5 \| (.+) \| (.+) \|$", page_of(ListBudgets=budgets)
    )
    assert (len(shown), shown) == (6, figures)
    assert "most 73.2 times in 100" in example
    assert "at most 13.6 times in 100" in example


def test_a_promise_that_is_none_is_given_no_figure() -> None:
    budgets = [budget(enforce="data_dependent"), budget(party="b", unguaranteed=True), budget(2.0, party="c")]
    assert [meaning.epsilon for meaning in meanings(budgets)] == [2.0]
    page = page_of(ListBudgets=budgets)
    assert "No figure here covers a/all (DP for records), b/all (DP for records)**" in page
    assert "No figure here" not in page_of()


def test_a_raised_budget_says_what_it_covers() -> None:
    assert "raised or renewed of a/all (DP for records)" in page_of(ListBudgets=[budget(broken_unix_s=1)])


def test_events_are_kinds_of_rows() -> None:
    kinds = inspect.getsource(accounts) + inspect.getsource(replayed_ledger)
    assert [kind for kind in EVENTS if f'"{kind}"' not in kinds] == []


def test_a_bar_in_a_cell_begins_no_other() -> None:
    party = admin_pb2.PartyInfo(site="a", state="active", groups=[common_pb2.Group(name="x|y", records=7)])
    assert r"| a | active | x\|y | 7 |" in page_of(ListParties=[party])


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"ExportAudit": [admin_pb2.AuditRow(sequence=4, payload="[]")]}, "audit row 4"),
        ({"ExportAudit": [admin_pb2.AuditRow(sequence=4, payload="{")]}, "audit row 4"),
        ({"ShowPolicy": admin_pb2.PolicyReply(toml="of_tomorrow = 1\n")}, "of_tomorrow"),
        ({"ListBudgets": [budget(-1.0)]}, "epsilon: must be 0 or more"),
        ({"ListBudgets": [budget(adjacency="other")]}, "adjacency"),
    ],
)
def test_answers_that_nothing_has_are_refused(changes: dict[str, Any], told: str) -> None:
    with pytest.raises(OstrakaError, match=told) as refused:
        page_of(**changes)
    assert refused.value.code is ErrorCode.MESSAGE_INVALID
