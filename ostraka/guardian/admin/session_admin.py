"""Sessions: what was asked and answered, and under which terms."""

from collections.abc import Iterator

import grpc

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.guardian.admin import requests
from ostraka.guardian.admin.charge_admin import ChargeRows
from ostraka.guardian.ledger import SessionSummary
from ostraka.guardian.ledger.sessions import session_close, sessions
from ostraka.protos.ostraka.v1 import admin_pb2


class Sessions(ChargeRows):
    """Lists, shows and cancels sessions."""

    def ListSessions(
        self, request: admin_pb2.ListSessionsRequest, context: grpc.ServicerContext
    ) -> Iterator[admin_pb2.SessionSummary]:
        """Every session with what was asked and answered."""
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
        )

    def CancelSession(
        self, request: admin_pb2.CancelSessionRequest, context: grpc.ServicerContext
    ) -> admin_pb2.CancelSessionReply:
        """End a session; unanswered batches die."""
        session, reason = requests.session_id(request.session_id), requests.reason(request.reason)
        self._ledger.write(session_close.cancel, session, reason=reason)
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
