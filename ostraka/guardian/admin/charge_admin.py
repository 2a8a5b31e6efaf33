"""Charges: what every released or checked batch cost every unit, at worst."""

from collections.abc import Iterable, Iterator
from functools import cache

import grpc

from ostraka.common.privacy import AMOUNT_UNIT, epsilon
from ostraka.guardian.admin import requests
from ostraka.guardian.admin.admin_base import AdminPart
from ostraka.guardian.admin.pages import pages
from ostraka.guardian.admin.terms import SessionTerms
from ostraka.guardian.ledger import RecordedCharge
from ostraka.guardian.ledger.sessions import recorded_charges
from ostraka.guardian.ledger.sessions.recorded_charges import Wanted
from ostraka.guardian.ledger.units import balances
from ostraka.protos.ostraka.v1 import admin_pb2


class ChargeRows(AdminPart):
    """Lists charges with whom and what they were for."""

    def ListCharges(
        self, request: admin_pb2.ListChargesRequest, context: grpc.ServicerContext
    ) -> Iterator[admin_pb2.ChargeRows]:
        """Every charge, or those of one party or session, from one time on until another, not included."""
        party = requests.party_name(request.party) if request.party else None
        begin, end = request.from_unix_ms, request.to_unix_ms or None
        if begin < 0 or (end is not None and end < begin):
            raise requests.invalid("Times are milliseconds since 1970, the first no later than the last")
        session = requests.session_id(request.session_id) if request.session_id else None
        charges = recorded_charges.public_charges(self._ledger, Wanted(session, party, begin, end))
        return (admin_pb2.ChargeRows(rows=page) for page in pages(self._rows(charges)))

    def _rows(self, charges: Iterable[RecordedCharge]) -> Iterator[admin_pb2.ChargeRow]:
        """One row for each charge that is not nothing, or whose cost nobody can tell."""
        terms, cost = cache(self._terms), cache(_epsilon)
        budgets = {budget.key: budget for budget in self._ledger.read(balances.all_budgets)}
        for charge in charges:
            match charge.kind:
                case "receipt":
                    under = SessionTerms.of_receipts(charge.worst_case)
                case "publication":
                    under = SessionTerms.of_publication()
                case _:
                    under = terms(charge.session_id)
            if not (charge.worst_case or under.unguaranteed):
                continue
            budget = budgets[charge.unit]
            yield admin_pb2.ChargeRow(
                party=charge.unit.party,
                group=charge.unit.group,
                adjacency=charge.unit.adjacency,
                session_id=charge.session_id,
                batch_id=charge.batch_id,
                querier=under.querier,
                time_unix_ms=charge.released_unix_ms,
                epsilon=cost(charge.worst_case, budget.order, budget.delta),
                epsilon_worst_case=cost(charge.spent, budget.order, budget.delta),
                enforce=under.enforce,
                bound=under.bound,
                mechanism=under.mechanism,
                tally=under.tally,
                unguaranteed=under.unguaranteed,
            )


def _epsilon(amount: int, order: float, delta: float) -> float:
    return epsilon(amount * AMOUNT_UNIT, order, delta)
