"""Answers that no guardian gives are refused in a sentence, and end no page with an internal error."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from ostraka.common.clock import SystemClock
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.identity import Role
from ostraka.guardian.admin.report import read_report
from ostraka.guardian.dashboard import overview_views
from ostraka.guardian.dashboard.console import audit_about, contents_of
from ostraka.guardian.dashboard.overview_views import warnings
from ostraka.protos.ostraka.v1 import admin_pb2, common_pb2
from tests.guardian.federation import Federation

BUDGET = admin_pb2.Budget(party="a", group="all", adjacency="record", epsilon=1.0, delta=1e-5, order=8.0)


def row(payload: str) -> admin_pb2.AuditRow:
    return admin_pb2.AuditRow(sequence=7, payload=payload)


def answering(**replies: Any) -> Any:
    """Return a stub that answers each call with these replies, whatever is asked."""
    return SimpleNamespace(**{name: lambda _, told=told: told for name, told in replies.items()})


def charged(epsilon: float, order: float) -> None:
    charge = admin_pb2.ChargeRow(party="a", group="all", adjacency="record", epsilon=epsilon)
    budget = admin_pb2.Budget()
    budget.CopyFrom(BUDGET)
    budget.order = order
    stub = answering(
        ListCharges=[admin_pb2.ChargeRows(rows=[charge])],
        ListBudgets=[budget],
        ShowPolicy=admin_pb2.PolicyReply(),
    )
    read_report(stub, "test", 0, 0, 0)


@pytest.mark.parametrize(
    ("read", "sentence"),
    [
        (lambda: contents_of(row("no JSON")), "what is not JSON"),
        (lambda: contents_of(row("[" * 100_000)), "what is not JSON"),
        (lambda: contents_of(row("[1]")), "nothing by name"),
        (lambda: audit_about(row('{"unit": ["a"]}')), "without party, group and adjacency"),
        (lambda: audit_about(row('{"unit": ["a", "all", "person"]}')), "adjacency record or label"),
        (lambda: overview_views._read_party(answering(ListParties=[]), "a"), "lists 0 parties a"),
        (lambda: overview_views._history(answering(BudgetHistory=[]), BUDGET, 0), "tells nothing of a/all"),
        (lambda: charged(-1.0, 8.0), "that nothing has"),
        (lambda: charged(1.0, 1.0), "that nothing has"),
    ],
)
def test_odd_answers_are_refused(read: Callable[[], object], sentence: str) -> None:
    with pytest.raises(OstrakaError, match=sentence) as refused:
        read()
    assert refused.value.code is ErrorCode.MESSAGE_INVALID


def test_a_head_without_a_certificate_is_refused(federation: Federation) -> None:
    own = federation.credentials["ops", Role.ADMIN]
    with pytest.raises(OstrakaError, match="without the certificate"):
        warnings(own, common_pb2.AuditHead(sequence=1), SystemClock(), [], [])
