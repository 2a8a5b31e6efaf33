"""Warnings for administrators, in sentences."""

from collections.abc import Iterator, Sequence

from cryptography import x509

from ostraka.common.clock import Clock
from ostraka.common.console.texts import epsilon_text, number_text
from ostraka.common.identity import Credentials, Identity
from ostraka.common.identity.identity import UNREADABLE, identity_of
from ostraka.guardian.admin.client import odd
from ostraka.guardian.admin.texts import day, left, unit_text
from ostraka.protos.ostraka.v1 import admin_pb2, common_pb2

EXPIRY_DAYS = 30
"""Days before a certificate's end from which on it is worth a warning."""

LOW = 0.1
"""Share of a budget that may be left before it is worth a warning."""


def warnings(
    credentials: Credentials,
    head: common_pb2.AuditHead,
    clock: Clock,
    parties: Sequence[admin_pb2.PartyInfo],
    budgets: Sequence[admin_pb2.Budget],
) -> list[str]:
    """Every warning, certificates first: the console's own, and the guardian's, which signed `head`.

    Raises:
        OstrakaError: `message.invalid` for a head without a certificate.
    """
    try:
        guardian = x509.load_der_x509_certificate(head.signed.certificate_der)
        signer = identity_of(guardian)
    except UNREADABLE as error:
        raise odd("sent an audit head without the certificate of who signed it") from error
    return [
        *_expiry(credentials.identity, credentials.expires_unix_s, clock),
        *_expiry(signer, guardian.not_valid_after_utc.timestamp(), clock),
        *_parties(parties, budgets),
        *_budgets(budgets),
    ]


def _expiry(whose: Identity, end: float, clock: Clock) -> Iterator[str]:
    days = int((end - clock.now()) // 86400)
    if days < EXPIRY_DAYS:
        yield (
            f"The certificate of {whose.uri} expires in {days} days, on {day(int(end))}; make a new request"
            " there with `ostraka site renew` and have the federation's CA sign it."
        )


def _parties(parties: Sequence[admin_pb2.PartyInfo], budgets: Sequence[admin_pb2.Budget]) -> Iterator[str]:
    known = {(budget.party, budget.group) for budget in budgets}
    for info in parties:
        if info.state == "unreconciled":
            yield (
                f"{info.site} has not sent its receipts since the ledger was restored; it votes again once"
                " it has."
            )
        if info.state == "revoked":
            yield (
                f"The certificate that {info.site} registered with was revoked; it votes again once it has"
                " a new one."
            )
        if info.together == "ttac":
            yield (
                f"{info.site}'s teachers learned by ttac, which leaves their votes without a formal"
                " guarantee."
            )
        missing = [group.name for group in info.groups if (info.site, group.name) not in known]
        if missing:
            yield (
                f"{info.site} has no budget for {', '.join(missing)}, and nothing is asked of a group"
                " without one."
            )


def _budgets(budgets: Sequence[admin_pb2.Budget]) -> Iterator[str]:
    for budget in budgets:
        if budget.broken_unix_s:
            yield (
                f"The budget of {unit_text(budget)} no longer covers its lifetime since"
                f" {day(budget.broken_unix_s)}: it was raised or renewed, or a person has more votes"
                f" than was charged for. Over its lifetime it spent epsilon"
                f" {epsilon_text(budget.epsilon_lifetime)} (worst case)."
            )
        if budget.unguaranteed:
            yield f"No epsilon covers all that was released of {unit_text(budget)}: ttac was part of it."
        remaining = left(budget)
        if remaining is not None and remaining < LOW * budget.epsilon:
            yield (
                f"{unit_text(budget)} has {epsilon_text(remaining)} of its epsilon of"
                f" {number_text(budget.epsilon)} left (worst case)."
            )
