"""Costs that a restored ledger lost and parties' receipts show, computed by the guardian itself."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from functools import cache

from ostraka.common.clock import Clock
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.identity import Credentials, Identity, read_signed
from ostraka.common.mechanism import Mechanism
from ostraka.common.mechanism.message import mechanism_of
from ostraka.common.privacy.filters import GAUSSIAN
from ostraka.common.wire.contexts import RECEIPTS_CONTEXT
from ostraka.common.wire.limits import too_large
from ostraka.guardian.ledger import UnitKey
from ostraka.guardian.ledger.reader import View
from ostraka.guardian.ledger.store.amounts import AMOUNT_MAX
from ostraka.guardian.ledger.store.values import Owed
from ostraka.guardian.ledger.units import balances
from ostraka.protos.ostraka.v1 import common_pb2, guardian_pb2

MAX_RECEIPTS = 500_000
"""A party's journal has no more receipts than this."""


def read_receipts(
    requests: Iterable[guardian_pb2.ReconcileRequest],
    party: Identity,
    *,
    credentials: Credentials,
    clock: Clock,
) -> common_pb2.Receipts:
    """All receipts of a stream; each message is signed by `party` and checked before the next is read.

    Raises:
        OstrakaError: `message.invalid`, `message.too_large`, `identity.*`.
    """
    told = common_pb2.Receipts(site=party.site)
    for request in requests:
        part = read_signed(
            request.receipts,
            RECEIPTS_CONTEXT,
            common_pb2.Receipts(),
            signer=party,
            ca_pem=credentials.ca_pem,
            clock=clock,
            invalid=ErrorCode.MESSAGE_INVALID,
            revocations=credentials.revocations,
        )
        if part.site != party.site:
            raise _invalid(f"are of site {part.site!r}")
        told.MergeFrom(part)
        # Counted before they are checked: a stream makes no more work than its limit.
        if max(len(told.receipts), len(told.declared_votes)) > MAX_RECEIPTS:
            raise too_large(f"There are more than {MAX_RECEIPTS} receipts", MAX_RECEIPTS)
        for receipt in part.receipts:
            _check(receipt)
    return told


def worst_cases(view: View, site: str, receipts: Iterable[common_pb2.Receipt]) -> list[Owed]:
    """Return the worst-case cost of each receipt to each unit that its batch charges, at the unit's order.

    A cost that is unknown under a Gaussian filter, or too large to compute, exceeds any budget: nothing is
    left, and no guarantee is kept.

    Raises:
        OstrakaError: `message.invalid` for a mechanism or classes that have no cost, `budget.missing` for a
            group without a budget: without its order nothing can be charged.
    """
    kept = list(receipts)
    needed = {UnitKey(site, receipt.group, receipt.adjacency) for receipt in kept}
    orders = {budget.key: budget.order for budget in balances.budgets_of(view, needed)}
    labels = {UnitKey(site, key.group, "label") for key in needed}
    orders |= {key: budget.order for key, budget in balances.find_budgets(view, labels).items()}

    @cache
    def cost(mechanism: bytes, order: float, sensitivity: float, classes: int, queries: int) -> int:
        parsed = _mechanism(mechanism)
        if classes < (1 if parsed.multi_label else 2):
            raise _invalid("need at least two classes, or one label")
        if order == GAUSSIAN and not parsed.has_gaussian_cost(classes):
            return AMOUNT_MAX
        try:
            worst = parsed.worst_case(order, sensitivity, classes=classes)
            return worst.reservation(queries, parsed.answers(classes))
        except (OverflowError, ValueError):
            return AMOUNT_MAX

    return [
        Owed(
            receipt.session_id,
            receipt.batch_id,
            key,
            cost(
                receipt.mechanism.SerializeToString(deterministic=True),
                orders[key],
                receipt.sensitivity,
                receipt.classes,
                receipt.queries,
            ),
        )
        for receipt in kept
        for key in _units(site, receipt)
        if key in orders
    ]


def _units(site: str, receipt: common_pb2.Receipt) -> Iterator[UnitKey]:
    """Yield the units that a receipt charges: a record's charge also debits its label budget."""
    yield UnitKey(site, receipt.group, receipt.adjacency)
    if receipt.adjacency == "record":
        yield UnitKey(site, receipt.group, "label")


def _check(receipt: common_pb2.Receipt) -> None:
    if receipt.adjacency not in ("record", "label"):
        raise _invalid(f"name adjacency {receipt.adjacency!r}")
    if not 0 < receipt.sensitivity < math.inf:
        raise _invalid("need a sensitivity above 0")
    if not receipt.session_id or receipt.batch_id >= 2**63:
        raise _invalid("must name the batch that they are of")


def _mechanism(message: bytes) -> Mechanism:
    try:
        return mechanism_of(common_pb2.Mechanism.FromString(message))
    except OstrakaError as exc:
        raise _invalid(f"name a mechanism that is none ({exc.message})") from exc


def _invalid(problem: str) -> OstrakaError:
    return OstrakaError(
        ErrorCode.MESSAGE_INVALID, f"The receipts {problem}; send them as this version's party keeps them."
    )
