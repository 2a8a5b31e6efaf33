"""Consent through the admin service."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ostraka.common.errors import OstrakaError
from ostraka.guardian.admin.exports import rows_of
from ostraka.guardian.ledger import Ledger
from ostraka.guardian.ledger.members import policies
from ostraka.protos.ostraka.v1 import admin_pb2
from tests.guardian.admin.support import UNIT, agree, budget, grant, refused
from tests.guardian.federation import Calls, Federation, refusal

POLICY = "delta = 1e-6\nmin_sigma = 0.5\n[policy.consent]\nlow = 1.0\nmedium = 4.0\nhigh = 20.0\n"


@pytest.fixture
def federation(tmp_path: Path) -> Federation:
    return Federation(tmp_path, policy=POLICY)


@pytest.fixture
def guardian(federation: Federation) -> Iterator[Calls]:
    with federation.guardian() as calls:
        calls.register("a")
        yield calls


def consent(guardian: Calls, level: str, **changes: Any) -> admin_pb2.Budget:
    request = admin_pb2.SetConsentRequest(**UNIT | {"level": level} | changes)
    return guardian.admin.SetConsent(request).budget


def withdraw(guardian: Calls, reason: str = "asked for") -> admin_pb2.Budget:
    request = admin_pb2.WithdrawConsentRequest(**UNIT, reason=reason)
    return guardian.admin.WithdrawConsent(request).budget


def test_a_level_gives_its_epsilon_and_the_policys_delta(guardian: Calls) -> None:
    found = consent(guardian, "medium")
    assert (found.epsilon, found.delta, found.level, found.enforce) == (4, 1e-6, "medium", "worst_case")
    assert found.order > 1
    assert consent(guardian, "high", group="other", order=8).order == 8


def test_a_policy_that_is_applied_meanwhile_counts(guardian: Calls, monkeypatch: pytest.MonkeyPatch) -> None:
    write = Ledger.write

    def write_after_a_policy(ledger: Ledger, change: Any, *args: Any, **kwargs: Any) -> Any:
        monkeypatch.setattr(Ledger, "write", write)
        write(ledger, policies.apply, "delta = 1e-7\n[consent]\nmedium = 2.0\n", reason="less")
        return write(ledger, change, *args, **kwargs)

    monkeypatch.setattr(Ledger, "write", write_after_a_policy)
    found = consent(guardian, "medium")
    assert (found.epsilon, found.delta) == (2, 1e-7)


def test_a_lower_level_lowers_the_budget_at_its_order(guardian: Calls) -> None:
    before = consent(guardian, "high")
    lowered = consent(guardian, "low")
    assert (lowered.epsilon, lowered.level, lowered.order) == (1, "low", before.order)


def test_a_higher_level_is_refused_and_says_how(guardian: Calls) -> None:
    consent(guardian, "low")
    error = refused(lambda: consent(guardian, "high"))
    assert error.code == "budget.raise_refused"
    assert "sign-raise" in error.message
    assert budget(guardian).level == "low"


def test_a_reason_is_kept_where_one_is_given(guardian: Calls) -> None:
    consent(guardian, "high")
    consent(guardian, "low", reason="as she asked")
    events = list(rows_of(guardian.admin.BudgetHistory(admin_pb2.BudgetHistoryRequest(**UNIT))))
    assert [event.reason for event in events] == ["", "as she asked"]


def test_a_level_that_the_policy_lacks(guardian: Calls) -> None:
    error = refused(lambda: consent(guardian, "extreme"))
    assert error.code == "consent.unknown"
    assert "low, medium, high" in error.message


def test_withdrawal_is_ended_by_the_party_alone(guardian: Calls, federation: Federation) -> None:
    consent(guardian, "medium")
    assert withdraw(guardian).state == "withdrawn"
    error: OstrakaError = refused(lambda: consent(guardian, "low"))
    assert error.code == "agreement.invalid"
    assert "sign-consent" in error.message
    assert (budget(guardian).epsilon, budget(guardian).state) == (4, "withdrawn")
    again = grant(guardian, agree(federation, action="consent"))
    assert (again.state, again.epsilon, again.agreements, again.level) == ("active", 4, 1, "medium")
    assert again.broken_unix_s == 0


def test_withdrawing_needs_a_budget_and_a_reason(guardian: Calls) -> None:
    assert refusal(lambda: withdraw(guardian)) == "budget.missing"
    consent(guardian, "medium")
    assert refusal(lambda: withdraw(guardian, "")) == "message.invalid"
    assert budget(guardian).state == "active"


@pytest.mark.parametrize("changes", [{"party": ""}, {"group": ""}, {"adjacency": "person"}, {"order": 0.5}])
def test_consent_of_what_cannot_be_meant(guardian: Calls, changes: dict[str, Any]) -> None:
    assert refusal(lambda: consent(guardian, "low", **changes)) == "message.invalid"
