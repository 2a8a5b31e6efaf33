"""The page that a data-protection officer files."""

import re
import time
from html.parser import HTMLParser
from types import SimpleNamespace
from typing import Any

import pytest

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.guardian.admin.confidential import read_totals
from ostraka.guardian.admin.report import BREAKS, Break, ChargeReport, SessionCharge, read_report, render
from ostraka.guardian.admin.texts import amount_left_text
from ostraka.guardian.ledger import Cipher
from ostraka.protos.ostraka.v1 import admin_pb2, common_pb2
from tests.guardian.admin.support import agree, budget, grant, label
from tests.guardian.federation import Calls, Federation
from tests.guardian.training import ALLOWING, TTAC, Lead, training, updates

NOW = 1_700_000_000_000


class Tags(HTMLParser):
    """Every tag and attribute of a page, and its text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: set[str] = set()
        self.texts: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes |= {name for name, _ in attrs}

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def read(guardian: Calls, first: int = 0, last: int = 0) -> ChargeReport:
    return read_report(guardian.admin, "test", NOW, first, last)


@pytest.mark.heavy
def test_sessions_are_added_up_by_unit(guardian: Calls) -> None:
    session = label(guardian)
    label(guardian, batch=2)
    report = read(guardian)
    assert [charge.unit for charge in report.charges] == [(p, "all", "record") for p in ("a", "b", "c")]
    charge = report.charges[0]
    assert (charge.session_id, charge.batches, charge.bound) == (session, 2, "worst_case")
    assert charge.epsilon == pytest.approx(guardian.spent("a"), rel=1e-9)
    assert charge.epsilon_after == guardian.spent("a")
    assert report.head == guardian.admin.Head(admin_pb2.HeadRequest())


@pytest.mark.heavy
def test_a_report_of_another_time_has_no_charges(guardian: Calls) -> None:
    label(guardian)
    assert read(guardian, last=1).charges == []


def test_broken_guarantees_are_told_with_their_reason(guardian: Calls, federation: Federation) -> None:
    grant(guardian, agree(federation), reason="the ethics board agreed")
    report = read(guardian)
    assert [(found.unit[0], found.event.kind) for found in report.breaks] == [("a", "raised")]
    page = render(report)
    assert "the ethics board agreed" in page
    assert page.count("broken since") == 1
    assert "raised" in BREAKS


@pytest.mark.heavy
def test_the_page_says_what_it_was_made_from(guardian: Calls) -> None:
    session = label(guardian)
    report = read(guardian)
    text = " ".join(Tags(render(report)).texts)
    for expected in (
        session,
        "ostraka://test/q/query",
        "confident: sigma1 2, sigma2 1, threshold 15",
        "min_quorum = 2",
        amount_left_text(budget(guardian)),
        report.head.hash.hex(),
        "2023-11-14 22:13",
        "audit verify",
    ):
        assert expected in text


def test_the_page_loads_and_runs_nothing(guardian: Calls) -> None:
    label(guardian)
    page = render(read(guardian))
    found = Tags(page)
    assert not {"script", "link", "img", "iframe", "object", "form"} & set(found.tags)
    assert found.attributes <= {"lang", "charset", "name", "content", "class"}
    assert not re.search(r"url\(|@import|https?:", page)


def test_what_comes_from_outside_is_escaped(guardian: Calls, federation: Federation) -> None:
    evil = "<script>alert('x')</script>"
    guardian.budget("a", 10, group=evil)
    agreement = agree(federation)
    grant(guardian, agreement, reason=evil)
    toml = f"# {evil}\nmin_sigma = 0.5\n"
    guardian.admin.ApplyPolicy(admin_pb2.ApplyPolicyRequest(toml=toml, reason="a comment"))
    page = render(read(guardian))
    assert "<script" not in page
    assert page.count("&lt;script&gt;") == 3


@pytest.mark.heavy
def test_what_has_no_formal_guarantee_is_told_first(federation: Federation) -> None:
    with federation.guardian() as calls:
        lead = Lead(federation, calls.address)
        lead.join_all("ttac")
        lead.apply_policy(ALLOWING)
        session = lead.begin(training(TTAC))
        lead.round(session, 1, updates())
        lead.close()
        report, later = read(calls), read(calls, first=int(time.time() * 1000) + 3_600_000)
        parties = list(calls.admin.ListParties(admin_pb2.ListPartiesRequest(party="a")))
    assert {charge.unguaranteed for charge in report.charges} == {True}
    assert {charge.epsilon for charge in report.charges} == {0.0}
    assert [party.together for party in parties] == ["ttac"]
    text = " ".join(Tags(render(report)).texts)
    units = ", ".join(f"{site}/all (DP for records)" for site in "abc")
    assert f"covers {units}: in sessions {session}" in text
    assert "No formal guarantee" in text
    assert later.charges == []
    assert f"in sessions {session}" in render(later)


@pytest.mark.heavy
def test_a_report_of_guaranteed_sessions_marks_none(guardian: Calls) -> None:
    label(guardian)
    assert "formal guarantee" not in render(read(guardian))


def test_charges_of_a_unit_that_has_no_budget_are_refused() -> None:
    row = admin_pb2.ChargeRow(party="a", group="all", adjacency="record", session_id="s", epsilon=1.0)
    lying: Any = SimpleNamespace(
        ListCharges=lambda _: iter([admin_pb2.ChargeRows(rows=[row])]),
        ListBudgets=lambda _: iter(()),
        ShowPolicy=lambda _: admin_pb2.PolicyReply(),
    )
    with pytest.raises(OstrakaError, match="a/all/record and lists no budget") as refused:
        read_report(lying, "test", NOW, 0, 0)
    assert refused.value.code is ErrorCode.MESSAGE_INVALID


@pytest.mark.parametrize("pages", [[], [admin_pb2.SealedChargeRows()]])
def test_charges_of_a_ledger_that_is_not_named_are_refused(pages: list[admin_pb2.SealedChargeRows]) -> None:
    lying: Any = SimpleNamespace(ListSealedCharges=lambda _: iter(pages))
    with pytest.raises(OstrakaError, match="whose charges") as refused:
        read_totals(lying, Cipher(bytes(32)))
    assert refused.value.code is ErrorCode.MESSAGE_INVALID


def test_every_row_of_a_unit_promises_what_its_budget_does() -> None:
    unit = ("a", "all", "record")
    event = admin_pb2.BudgetEvent(kind="raised", epsilon=5.0)
    amounts: dict[str, Any] = {
        "batches": 1,
        "first_unix_ms": NOW,
        "last_unix_ms": NOW,
        "epsilon": 1.0,
        "epsilon_after": 1.0,
    }
    names: dict[str, Any] = dict.fromkeys(
        ("session_id", "querier", "enforce", "bound", "tally", "mechanism"), "known"
    )
    report = ChargeReport(
        federation="test",
        made_unix_ms=NOW,
        from_unix_ms=0,
        to_unix_ms=0,
        policy=admin_pb2.PolicyReply(),
        budgets=[admin_pb2.Budget(party="a", group="all", adjacency="record", whole_persons=True)],
        breaks=[Break(unit, event)],
        charges=[SessionCharge(unit=unit, unguaranteed=True, **names, **amounts)],
        unguaranteed=[(unit, "session")],
        head=common_pb2.AuditHead(),
    )
    page = render(report)
    assert page.count("a/all (DP for persons)") == 4
    assert "a/all (DP for records)" not in page
