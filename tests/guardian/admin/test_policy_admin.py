"""Policies through the admin service."""

from pathlib import Path

import pytest

from ostraka.guardian.admin.policy_admin import MAX_NAMED, _warnings, differences, to_toml
from ostraka.guardian.policy import Policy, parse_policy
from ostraka.protos.ostraka.v1 import admin_pb2
from tests.guardian.admin.support import refused
from tests.guardian.federation import Calls, Federation, plan, refusal
from tests.guardian.sessions.people import budget

NEW = 'min_sigma = 0.5\nmin_quorum = 3\nmechanisms = ["confident"]\n[consent]\nlow = 1.0\n'


def apply(
    guardian: Calls, toml: str, reason: str = "agreed", check_only: bool = False
) -> admin_pb2.PolicyReply:
    request = admin_pb2.ApplyPolicyRequest(toml=toml, reason=reason, check_only=check_only)
    return guardian.admin.ApplyPolicy(request)


def show(guardian: Calls) -> admin_pb2.PolicyReply:
    return guardian.admin.ShowPolicy(admin_pb2.ShowPolicyRequest())


def test_until_one_is_applied_the_policy_is_that_of_site_toml(guardian: Calls) -> None:
    found = show(guardian)
    assert (found.version, found.noise, found.ledger) == (0, "ostraka", "sqlite")
    assert parse_policy(found.toml) == Policy(enforce="worst_case", min_sigma=0.5, min_quorum=2)


def test_a_check_says_what_would_change_and_changes_nothing(guardian: Calls) -> None:
    checked = apply(guardian, NEW, check_only=True, reason="")
    assert list(checked.changes) == [
        'mechanisms: not set -> ["confident"]',
        "min_quorum: 2 -> 3",
        "consent.low: not set -> 1.0",
    ]
    assert (checked.version, show(guardian).version) == (0, 0)


def test_an_applied_policy_is_in_force_at_once(guardian: Calls) -> None:
    applied = apply(guardian, NEW)
    assert (applied.version, applied.toml) == (1, NEW)
    assert show(guardian).toml == NEW
    assert list(apply(guardian, NEW, check_only=True).changes) == []
    assert refusal(lambda: guardian.open(plan(quorum=2))) == "policy.refused"
    assert guardian.open(plan(quorum=3))


@pytest.mark.parametrize("check_only", [True, False])
def test_a_policy_whose_stops_tell_votes_is_refused_by_a_guardian_not_started_for_it(
    guardian: Calls, check_only: bool
) -> None:
    error = refused(lambda: apply(guardian, 'enforce = "data_dependent"\n', check_only=check_only))
    assert error.code == "policy.stops_tell_votes"
    assert show(guardian).version == 0


def test_budgets_of_another_enforcement_are_warned_of(tmp_path: Path) -> None:
    with Federation(tmp_path, votes_may_tell=True).guardian() as guardian:
        guardian.prepare_all()
        changes = apply(guardian, 'enforce = "data_dependent"\n', check_only=True).changes
    assert changes[0] == 'enforce: "worst_case" -> "data_dependent"'
    assert changes[-1].startswith("warning: 3 budgets are enforced otherwise than data_dependent")
    assert "a/all (record)" in changes[-1]


def test_a_warning_names_so_many_budgets_and_counts_the_rest() -> None:
    budgets = [budget(site, enforce="data_dependent") for site in "abcdefgh"[: MAX_NAMED + 1]]
    whole, cut = (next(_warnings(Policy(), budgets[:count])) for count in (MAX_NAMED, MAX_NAMED + 1))
    named = ", ".join(str(one.key) for one in budgets[:MAX_NAMED])
    assert (whole.endswith(f": {named}"), cut.endswith(f": {named} and 1 more")) == (True, True)


BEYOND = ("grant_ttl_s = 1e300", "x = " + "[" * 5000, "x = " + "9" * 5000)


@pytest.mark.parametrize(
    "toml", ["min_sigma = ", "min_sigma = -1", "unknown = 1", "[consent]\nLOW = 1", *BEYOND]
)
def test_a_policy_that_is_off_names_its_key(refusing: Calls, toml: str) -> None:
    error = refused(lambda: apply(refusing, toml))
    assert error.code == "policy.invalid"
    assert show(refusing).version == 0


def test_applying_needs_a_reason(guardian: Calls) -> None:
    assert refusal(lambda: apply(guardian, NEW, reason="")) == "message.invalid"
    assert show(guardian).version == 0


FULL = Policy(
    enforce="data_dependent",
    bound="theorem6",
    on_exhaustion="vanish",
    consent={"low": 0.5, "high-2": 1e-3},
    delta=1e-7,
    renewal_days=365,
    admission="added",
    mechanisms=("gnmax", "confident"),
    max_queries_per_day=1000,
)


@pytest.mark.parametrize("policy", [Policy(), FULL])
def test_toml_reads_back_as_the_policy(policy: Policy) -> None:
    assert parse_policy(to_toml(policy)) == policy


def test_differences_name_each_key_once() -> None:
    lines = list(differences(Policy(), FULL))
    assert len({line.partition(":")[0] for line in lines}) == len(lines) == 10
    assert "renewal_days: not set -> 365" in lines
    assert list(differences(FULL, FULL)) == []
    assert list(differences(Policy(consent={"low": 1.0}), Policy())) == ["consent.low: 1.0 -> not set"]
