"""The federation's policy: show, compare, put into force."""

import json
from collections.abc import Iterator, Sequence
from typing import Any

import grpc

from ostraka.common.console.texts import list_words
from ostraka.common.errors import OstrakaError
from ostraka.common.mechanism.allowed import allows_sums, describe_allowed
from ostraka.common.release_kinds import MODEL_OF_EVERYBODY
from ostraka.guardian.admin import requests
from ostraka.guardian.admin.admin_base import AdminPart
from ostraka.guardian.ledger import Budget
from ostraka.guardian.ledger.members import policies
from ostraka.guardian.ledger.units import balances
from ostraka.guardian.policy import Policy, parse_policy
from ostraka.protos.ostraka.v1 import admin_pb2

MAX_NAMED = 3
"""Number of units that a warning names; it counts the rest."""


class PolicyAdmin(AdminPart):
    """Shows the policy in force and changes it."""

    def ShowPolicy(
        self, request: admin_pb2.ShowPolicyRequest, context: grpc.ServicerContext
    ) -> admin_pb2.PolicyReply:
        """Return the policy in force."""
        return self._in_force([])

    def ApplyPolicy(
        self, request: admin_pb2.ApplyPolicyRequest, context: grpc.ServicerContext
    ) -> admin_pb2.PolicyReply:
        """Put a policy into force, or only report what it would change."""
        policy = parse_policy(request.toml)
        self._policies.check(policy)
        current = self._current()
        changes = [
            *differences(current, policy),
            *_warn_of_sums(current, policy),
            *_warnings(policy, self._ledger.read(balances.all_budgets)),
        ]
        if not request.check_only:
            self._write(context, policies.apply, request.toml, reason=requests.reason(request.reason))
        return self._in_force(changes)

    def _current(self) -> Policy:
        """Return the policy in force, or the default if only an earlier version accepted it."""
        try:
            return self._policies.current()
        except OstrakaError:
            return Policy()

    def _in_force(self, changes: Sequence[str]) -> admin_pb2.PolicyReply:
        stored = self._ledger.read(policies.in_force)
        toml = to_toml(self._policies.current()) if stored is None else stored.toml
        version = 0 if stored is None else stored.version
        return admin_pb2.PolicyReply(
            toml=toml,
            version=version,
            changes=changes,
            allows=self._words_of_current(),
            noise=self._noise_name,
            ledger=self._ledger.read(lambda view: view.connection.dialect.name),
        )

    def _words_of_current(self) -> str:
        """Say what the policy in force allows; nothing if only an earlier version accepts it."""
        try:
            return describe_allowed(self._policies.current().mechanisms)
        except OstrakaError:
            return ""


def to_toml(policy: Policy) -> str:
    """Return a policy as TOML that `parse_policy` reads back, without keys that are not set."""
    values = policy.model_dump(mode="json", exclude_none=True)
    consent = values.pop("consent")
    lines = [f"{key} = {json.dumps(value)}" for key, value in values.items()]
    if consent:
        lines += ["", "[consent]", *(f"{level} = {json.dumps(value)}" for level, value in consent.items())]
    return "\n".join(lines) + "\n"


def differences(before: Policy, after: Policy) -> Iterator[str]:
    """Yield what differs between two policies, one line per key, in the order of the policy's keys."""
    old = _flat(before)
    new = _flat(after)
    for key in dict.fromkeys([*old, *new]):
        if old.get(key) != new.get(key):
            yield f"{key}: {_words(old.get(key))} -> {_words(new.get(key))}"


def _flat(policy: Policy) -> dict[str, Any]:
    values = policy.model_dump(mode="json")
    consent = values.pop("consent")
    return values | {f"consent.{level}": epsilon for level, epsilon in consent.items()}


def _words(value: Any) -> str:
    return "not set" if value is None else json.dumps(value)


def _warn_of_sums(before: Policy, after: Policy) -> Iterator[str]:
    if allows_sums(after.mechanisms) and not allows_sums(before.mechanisms):
        yield (f"warning: it allows sums over records, {MODEL_OF_EVERYBODY}; parties must allow them, too")


def _warnings(policy: Policy, budgets: Sequence[Budget]) -> Iterator[str]:
    other = [str(budget.key) for budget in budgets if budget.enforce != policy.enforce]
    if other:
        yield (
            f"warning: {len(other)} budgets are enforced otherwise than {policy.enforce}, and sessions that"
            f" would charge them are refused: {list_words(other, most=MAX_NAMED)}"
        )
