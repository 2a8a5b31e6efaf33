"""Charges: what every released or checked batch cost every unit, at worst."""

# ruff: noqa: N802
from collections.abc import Iterator, Sequence
from functools import cache
from heapq import merge
from typing import TypeAlias

import grpc

from ostraka.common.privacy import AMOUNT_UNIT, epsilon
from ostraka.guardian.admin import requests
from ostraka.guardian.admin.admin_base import AdminPart
from ostraka.guardian.admin.terms import SessionTerms
from ostraka.guardian.ledger import (
    Budget,
    RecordedCharge,
    UnitEvent,
    UnitKey,
    balances,
    history,
    publications,
    reconcile,
    recorded_charges,
)
from ostraka.protos.ostraka.v1 import admin_pb2

Moment: TypeAlias = tuple[str, int]
"""A batch by session and id, or what else happened to a unit, and when."""


class ChargeRows(AdminPart):
    """Lists charges with whom and what they were for."""

    def ListCharges(
        self, request: admin_pb2.ListChargesRequest, context: grpc.ServicerContext
    ) -> Iterator[admin_pb2.ChargeRow]:
        """Every charge, or those of one party or session, from one time on until another, not included."""
        party = requests.party_name(request.party) if request.party else None
        begin, end = request.from_unix_ms, request.to_unix_ms or None
        if begin < 0 or (end is not None and end < begin):
            raise requests.invalid("Times are milliseconds since 1970, the first no later than the last")
        session = requests.session_id(request.session_id) if request.session_id else None
        reconciled, published = (
            [
                charge
                for charge in ([] if session else self._ledger.read(question, party))
                if begin <= charge.released_unix_ms and (end is None or charge.released_unix_ms < end)
            ]
            for question in (reconcile.charges, publications.charges)
        )
        charges = self._ledger.read(recorded_charges.charges, session, party=party, from_ms=begin, to_ms=end)
        rows = self._rows(charges), self._rows(reconciled, "reconciled"), self._rows(published, "published")
        return merge(*rows, key=_time)

    def _rows(
        self, charges: Sequence[RecordedCharge], without_session: str = ""
    ) -> Iterator[admin_pb2.ChargeRow]:
        """One row for each charge that is not nothing, or whose cost nobody can tell.

        Those `without_session` have other terms: "reconciled" from receipts, or "published".
        """
        budgets = self._ledger.read(balances.find_budgets, {charge.unit for charge in charges})
        spent = cache(self._spent_after)
        terms = cache(self._terms)
        for charge in charges:
            match without_session:
                case "reconciled":
                    under = SessionTerms.of_receipts(charge.worst_case)
                case "published":
                    under = SessionTerms.of_publication()
                case _:
                    under = terms(charge.session_id)
            if not (charge.worst_case or under.unguaranteed):
                continue
            budget = budgets[charge.unit]
            moment = (without_session, charge.released_unix_ms) if without_session else _batch(charge)
            after = spent(charge.unit)[moment] if charge.worst_case else self._spent_by(charge)
            yield admin_pb2.ChargeRow(
                party=charge.unit.party,
                group=charge.unit.group,
                adjacency=charge.unit.adjacency,
                session_id=charge.session_id,
                batch_id=charge.batch_id,
                querier=under.querier,
                time_unix_ms=charge.released_unix_ms,
                epsilon=_epsilon(charge.worst_case, budget),
                epsilon_worst_case=_epsilon(after, budget),
                enforce=under.enforce,
                bound=under.bound,
                mechanism=under.mechanism,
                tally=under.tally,
                unguaranteed=under.unguaranteed,
            )

    def _spent_after(self, key: UnitKey) -> dict[Moment, int]:
        """Return what a unit had spent after each of its charges, in amounts."""
        return {_moment(event): event.spent for event in self._ledger.read(history.events_of, key)}

    def _spent_by(self, charge: RecordedCharge) -> int:
        """Return what a unit had spent when a charge of zero was made, in amounts."""
        events = self._ledger.read(history.events_of, charge.unit)
        before = [event.spent for event in events if event.time_unix_ms <= charge.released_unix_ms]
        return before[-1] if before else 0


def _moment(event: UnitEvent) -> Moment:
    if event.kind == "charged":
        return event.session_id, event.batch_id
    return event.kind, event.time_unix_ms


def _batch(charge: RecordedCharge) -> Moment:
    return charge.session_id, charge.batch_id


def _time(row: admin_pb2.ChargeRow) -> int:
    return row.time_unix_ms


def _epsilon(amount: int, budget: Budget) -> float:
    return epsilon(amount * AMOUNT_UNIT, budget.order, budget.delta)
