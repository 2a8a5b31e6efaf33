"""Budgets through the admin service: shown, set, lowered, raised with an agreement, frozen."""

from typing import Any

import pytest

from ostraka.common.identity import Role
from ostraka.common.wire.contexts import MANIFEST_CONTEXT
from ostraka.guardian.admin.exports import rows_of
from ostraka.protos.ostraka.v1 import admin_pb2, common_pb2
from tests.guardian.admin.support import UNIT, agree, budget, grant, label, refused
from tests.guardian.federation import Calls, Federation, refusal


def test_a_new_budget_says_everything_about_itself(guardian: Calls) -> None:
    found = budget(guardian)
    assert (found.party, found.group, found.adjacency, found.enforce) == ("a", "all", "record", "worst_case")
    assert (found.epsilon, found.delta, found.state, found.level) == (1000, 1e-5, "active", "")
    assert (found.epsilon_worst_case, found.epsilon_reserved, found.epsilon_lifetime) == (0, 0, 0)
    assert (found.broken_unix_s, found.agreements) == (0, 0)
    assert found.order > 1


def test_what_is_not_said_is_the_policys_and_then_stays(guardian: Calls) -> None:
    first = guardian.budget("a", 50, adjacency="label", delta=0)
    assert first.delta == 1e-5
    lowered = guardian.budget("a", 5, adjacency="label", delta=0)
    assert (lowered.epsilon, lowered.delta, lowered.order) == (5, first.delta, first.order)


def test_another_delta_is_refused(guardian: Calls) -> None:
    assert refusal(lambda: guardian.budget("a", 5, delta=1e-6)) == "budget.already_set"
    assert budget(guardian).epsilon == 1000


def test_a_raise_by_an_administrator_alone_is_refused_and_says_how(guardian: Calls) -> None:
    error = refused(lambda: guardian.budget("a", 2000))
    assert error.code == "budget.raise_refused"
    assert "sign-raise" in error.message


def test_a_raise_with_the_partys_agreement(guardian: Calls, federation: Federation) -> None:
    before = budget(guardian)
    raised = grant(guardian, agree(federation))
    assert (raised.epsilon, raised.agreements, raised.order) == (2000, 1, before.order)
    assert raised.broken_unix_s > 0
    assert budget(guardian) == raised


def test_an_agreement_is_used_once(guardian: Calls, federation: Federation) -> None:
    agreement = agree(federation)
    grant(guardian, agreement)
    guardian.budget("a", 1000)
    assert refusal(lambda: grant(guardian, agreement)) == "agreement.invalid"
    assert grant(guardian, agree(federation, number=1)).epsilon == 2000


@pytest.mark.parametrize(
    "fields",
    [
        {"site": "b"},
        {"action": "lower"},
        {"action": ""},
        {"epsilon": 1000.0},
        {"epsilon": float("nan")},
        {"epsilon": float("inf")},
        {"epsilon_before": 900.0},
        {"number": 1},
        {"action": "consent"},
    ],
)
def test_an_agreement_that_does_not_fit(refusing: Calls, lasting: Federation, fields: dict[str, Any]) -> None:
    assert refusal(lambda: grant(refusing, agree(lasting, **fields))) == "agreement.invalid"
    assert (budget(refusing).epsilon, budget(refusing).agreements) == (1000, 0)


def test_nobody_else_signs_for_a_party(guardian: Calls, federation: Federation) -> None:
    assert refusal(lambda: grant(guardian, agree(federation, "b"))) == "agreement.invalid"
    admin = agree(federation, "ops", Role.ADMIN)
    assert refusal(lambda: grant(guardian, admin)) == "identity.wrong_role"
    altered = agree(federation)
    altered.payload += b"\x10"
    assert refusal(lambda: grant(guardian, altered)) == "agreement.invalid"
    other_use = federation.credentials["a", Role.PARTY].sign(MANIFEST_CONTEXT, agree(federation).payload)
    assert refusal(lambda: grant(guardian, other_use)) == "agreement.invalid"
    assert refusal(lambda: grant(guardian, common_pb2.Signed())) == "agreement.invalid"


def test_a_raise_needs_a_reason(guardian: Calls, federation: Federation) -> None:
    assert refusal(lambda: grant(guardian, agree(federation), reason="")) == "message.invalid"
    assert budget(guardian).epsilon == 1000


def test_a_frozen_unit_is_thawed(guardian: Calls) -> None:
    def freeze(frozen: bool, reason: str = "a complaint") -> str:
        request = admin_pb2.FreezeBudgetRequest(**UNIT, frozen=frozen, reason=reason)
        return guardian.admin.FreezeBudget(request).budget.state

    assert freeze(True) == "frozen"
    assert freeze(False) == "active"
    assert refusal(lambda: freeze(True, "")) == "message.invalid"
    assert budget(guardian).state == "active"


def test_history_tells_everything_in_order(guardian: Calls, federation: Federation) -> None:
    session = label(guardian)
    guardian.budget("a", 900)
    grant(guardian, agree(federation, epsilon_before=900.0), reason="more data came")
    events = list(rows_of(guardian.admin.BudgetHistory(admin_pb2.BudgetHistoryRequest(**UNIT))))
    assert [(e.kind, e.epsilon) for e in events] == [
        ("set", 1000),
        ("charged", 1000),
        ("lowered", 900),
        ("raised", 2000),
    ]
    charged, raised = events[1], events[3]
    assert (charged.session_id, charged.batch_id) == (session, 1)
    assert charged.epsilon_worst_case == pytest.approx(guardian.spent("a"))
    assert raised.reason == "more data came"
    assert [e.time_unix_ms for e in events] == sorted(e.time_unix_ms for e in events)


def test_a_reason_is_kept_where_one_is_given(guardian: Calls) -> None:
    guardian.budget("a", 900, reason=" fewer records ")
    guardian.budget("a", 800)
    events = list(rows_of(guardian.admin.BudgetHistory(admin_pb2.BudgetHistoryRequest(**UNIT))))
    assert [(event.kind, event.reason) for event in events] == [
        ("set", ""),
        ("lowered", "fewer records"),
        ("lowered", ""),
    ]
    rows = [row.payload for row in guardian.admin.ExportAudit(admin_pb2.ExportAuditRequest())]
    assert sum('"reason":"fewer records"' in payload for payload in rows) == 1
    assert refusal(lambda: guardian.budget("a", 700, reason="two\nlines")) == "message.invalid"
    assert budget(guardian).epsilon == 800


def test_history_of_a_unit_without_a_budget(guardian: Calls) -> None:
    request = admin_pb2.BudgetHistoryRequest(**UNIT | {"group": "none"})
    assert refusal(lambda: list(rows_of(guardian.admin.BudgetHistory(request)))) == "budget.missing"


@pytest.mark.parametrize(
    "changes",
    [
        {"party": "", "epsilon": 1},
        {"group": "", "epsilon": 1},
        {"group": "a\x00b", "epsilon": 1},
        {"group": "x" * 65, "epsilon": 1},
        {"adjacency": "", "epsilon": 1},
        {"adjacency": "person", "epsilon": 1},
        {"epsilon": 0},
        {"epsilon": -1},
        {"epsilon": float("nan")},
        {"epsilon": float("inf")},
        {"epsilon": 1, "delta": 1},
        {"epsilon": 1, "delta": -0.1},
        {"epsilon": 1, "order": 1},
        {"epsilon": 1, "order": 1e6},
        {"epsilon": 1, "order": float("nan")},
    ],
)
def test_budgets_out_of_range(refusing: Calls, changes: dict[str, Any]) -> None:
    request = admin_pb2.SetBudgetRequest(**UNIT | {"delta": 1e-5} | changes)
    assert refusal(lambda: refusing.admin.SetBudget(request)) == "message.invalid"


def test_a_gaussian_filter_is_named_and_stays(guardian: Calls) -> None:
    found = guardian.budget("a", 8, adjacency="label", filter="gaussian")
    assert (found.filter, found.order) == ("gaussian", 0)
    assert guardian.budget("a", 5, adjacency="label").filter == "gaussian"
    assert refusal(lambda: guardian.budget("a", 4, adjacency="label", filter="renyi")) == "budget.already_set"
    assert guardian.budgets("a")["all"].filter == "renyi"
    assert refusal(lambda: guardian.budget("a", 5, filter="gaussian")) == "budget.already_set"


def test_a_budget_is_lowered_also_to_where_no_order_would_be_proposed(guardian: Calls) -> None:
    assert guardian.budget("a", 1e-9).epsilon == 1e-9
    assert refusal(lambda: guardian.budget("a", 1e-9, adjacency="label")) == "budget.too_small"


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"filter": "gauss"}, "renyi or gaussian"),
        ({"filter": "gaussian", "order": 8.0}, "has no order"),
        ({"order": 1.0}, "between 1.5 and 1024"),
    ],
)
def test_a_filter_that_there_is_not_is_refused(guardian: Calls, fields: dict[str, Any], told: str) -> None:
    error = refused(lambda: guardian.budget("a", 5, adjacency="label", **fields))
    assert (error.code, told in error.message) == ("message.invalid", True)
