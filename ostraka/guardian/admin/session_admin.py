"""Sessions: queries and answers, terms, and the cost of every batch to every unit."""

from collections.abc import Iterable, Iterator
from functools import cache

import grpc

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.privacy import AMOUNT_UNIT, epsilon
from ostraka.guardian.admin import requests
from ostraka.guardian.admin.admin_base import AdminPart, SessionTerms
from ostraka.guardian.admin.exports import pages
from ostraka.guardian.ledger import RecordedCharge, SealedCharge, SessionSummary, creation
from ostraka.guardian.ledger.sessions import endings, recorded_charges, sessions
from ostraka.guardian.ledger.sessions.recorded_charges import Wanted
from ostraka.guardian.ledger.units import balances
from ostraka.protos.ostraka.v1 import admin_pb2


class ChargeRows(AdminPart):
    """Lists charges with their units and releases."""

    def ListCharges(
        self, request: admin_pb2.ListChargesRequest, context: grpc.ServicerContext
    ) -> Iterator[admin_pb2.ChargeRows]:
        """Every charge, or the charges of one party or session, from one time until another (exclusive)."""
        party = requests.party_name(request.party) if request.party else None
        begin = request.from_unix_ms
        end = request.to_unix_ms or None
        if begin < 0 or (end is not None and end < begin):
            raise requests.invalid("Times are milliseconds since 1970, the first no later than the last")
        session = requests.session_id(request.session_id) if request.session_id else None
        charges = recorded_charges.public_charges(self._ledger, Wanted(session, party, begin, end))
        return (admin_pb2.ChargeRows(rows=page) for page in pages(self._rows(charges)))

    def _rows(self, charges: Iterable[RecordedCharge]) -> Iterator[admin_pb2.ChargeRow]:
        """One row for each charge that is not zero, or whose cost is unknown."""
        terms = cache(self._terms)
        cost = cache(_epsilon)
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


class Sessions(ChargeRows):
    """Lists, shows and cancels sessions."""

    def ListSessions(
        self, request: admin_pb2.ListSessionsRequest, context: grpc.ServicerContext
    ) -> Iterator[admin_pb2.SessionSummary]:
        """Every session with its numbers of queries and answers."""
        return map(_summary, self._ledger.read(sessions.summaries))

    def ShowSession(
        self, request: admin_pb2.ShowSessionRequest, context: grpc.ServicerContext
    ) -> admin_pb2.ShowSessionReply:
        """One session with its terms; `ListCharges` has its charges."""
        summary = self._find(requests.session_id(request.session_id))
        terms = self._terms(summary.session_id)
        return admin_pb2.ShowSessionReply(
            session=_summary(summary),
            mechanism=terms.mechanism,
            variant=terms.variant,
            enforce=terms.enforce,
            bound=terms.bound,
            tally=terms.tally,
            encoding=terms.encoding,
            unguaranteed=terms.unguaranteed,
            parties=terms.parties,
            released=terms.released,
        )

    def CancelSession(
        self, request: admin_pb2.CancelSessionRequest, context: grpc.ServicerContext
    ) -> admin_pb2.CancelSessionReply:
        """Cancel a session; its unanswered batches are never released."""
        session = requests.session_id(request.session_id)
        reason = requests.reason(request.reason)
        self._write(context, endings.cancel, session, reason=reason)
        return admin_pb2.CancelSessionReply(session=_summary(self._find(session)))

    def _find(self, session_id: str) -> SessionSummary:
        for summary in self._ledger.read(sessions.summaries, session_id=session_id):
            return summary
        raise OstrakaError(
            ErrorCode.SESSION_UNKNOWN,
            f"There is no session {session_id!r}; see `ostraka guardian session list`.",
        )


def _summary(session: SessionSummary) -> admin_pb2.SessionSummary:
    return admin_pb2.SessionSummary(
        session_id=session.session_id,
        querier=session.querier,
        state=session.state,
        queries=session.queries,
        asked=session.asked,
        answered=session.answered,
        opened_unix_s=session.opened_unix_s,
    )


class SealedCharges(AdminPart):
    """Serves rows that only the ledger's key opens. All rows have one length, whatever the votes were."""

    def ListSealedCharges(
        self, request: admin_pb2.ListSealedChargesRequest, context: grpc.ServicerContext
    ) -> Iterator[admin_pb2.SealedChargeRows]:
        """Return a check of the ledger's key, and every charge: batches, receipts and publications."""
        ledger_id, check = self._ledger.read(creation.key_check)
        yield admin_pb2.SealedChargeRows(ledger_id=ledger_id, key_check=check)
        for page in pages(map(_row, recorded_charges.sealed_charges(self._ledger))):
            yield admin_pb2.SealedChargeRows(rows=page)


def _row(charge: SealedCharge) -> admin_pb2.SealedChargeRow:
    return admin_pb2.SealedChargeRow(
        party=charge.unit.party,
        group=charge.unit.group,
        adjacency=charge.unit.adjacency,
        session_id=charge.session_id,
        batch_id=charge.batch_id,
        time_unix_ms=charge.released_unix_ms,
        worst_case=charge.worst_case,
        sealed=charge.sealed,
    )
