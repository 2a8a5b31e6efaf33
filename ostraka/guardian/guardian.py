"""The privacy guardian from Python: serving it, setting budgets, reading charges and the audit log."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Literal

from ostraka.common.clock import SystemClock
from ostraka.common.config import load_site
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.telemetry import configure_logging_once
from ostraka.guardian.admin.client import admin_call, unknown_party
from ostraka.guardian.admin.report import ChargeReport, SessionCharge, read_report
from ostraka.guardian.admin.texts import amount_left, span
from ostraka.guardian.admin.verification import AuditCheck, locate, verify_ledger
from ostraka.guardian.operations.unit_operations import require_filter
from ostraka.protos.ostraka.v1 import admin_pb2


@dataclass(frozen=True)
class UnitBudget:
    """A unit's budget, and what it spent of it in the worst case.

    Attributes:
        party: whose records they are; `group` which of them.
        adjacency: what neighbouring datasets differ in: a "record", or the "label" of one.
        epsilon: what may be spent at `delta`, kept at Renyi order `order`, 0 by a Gaussian filter.
        spent: worst-case epsilon of everything released; `reserved` of what is under way.
        left: what is left of `epsilon`; None where that depends on votes.
        enforce: which costs count: "worst_case" or "data_dependent".
        state: "active", "frozen" or "withdrawn".
        unguaranteed: whether something was released that no epsilon covers (ttac).
    """

    party: str
    group: str
    adjacency: str
    epsilon: float
    delta: float
    order: float
    spent: float
    reserved: float
    left: float | None
    enforce: str
    state: str
    unguaranteed: bool


class Guardian:
    """A federation's privacy guardian, as its operator runs it and as its administrators see it."""

    def __init__(self, site: Path | str) -> None:
        """Take a site folder: the guardian's own to serve and audit, an administrator's for budgets."""
        self.site = Path(site)

    @contextmanager
    def serve(self, *, insecure: bool = False) -> Iterator[str]:
        """Serve sessions within the block, and yield the guardian's address; drain at its end.

        `insecure` is without TLS, for loopback only. Raises `config.invalid`, `ledger.*`, `server.*`.
        """
        from ostraka.guardian.serving.server import running

        configure_logging_once()
        with running(self.site, insecure=insecure) as address:
            yield address

    def budgets(self, party: str = "") -> tuple[UnitBudget, ...]:
        """Return every unit's budget, or those of one party, from the guardian that serves.

        Raises what the guardian refuses, and `server.unreachable`.
        """
        request = admin_pb2.ListBudgetsRequest(party=party)
        return tuple(map(_budget, admin_call(self.site, lambda stub: list(stub.ListBudgets(request)))))

    def set_budget(
        self,
        party: str,
        epsilon: float,
        *,
        delta: float = 0.0,
        group: str = "all",
        adjacency: str = "record",
        filter: Literal["", "renyi", "gaussian"] = "",
        reason: str = "",
        new: bool = False,
    ) -> UnitBudget:
        """Set a unit's budget once, or lower it; raising one takes its party's signature on a command line.

        Args:
            party: whose records they are.
            epsilon: what may be spent.
            delta: at which delta; 0 is the unit's own, else the policy's.
            group: which of the party's records.
            adjacency: what is charged: a "record", or the "label" of one.
            filter: how costs add up, fixed for good: "gaussian" suits sums and trainings, "renyi" votes; ""
                is the unit's own, else the guardian's choice.
            reason: why; kept in the audit log for good.
            new: whether the party may be one that has not registered yet.

        Raises:
            OstrakaError: `party.unknown`, what the guardian refuses, and `server.unreachable`.
        """
        if not new and (problem := unknown_party(self.site, party)):
            raise OstrakaError(
                ErrorCode.PARTY_UNKNOWN,
                f"{problem} Nothing was set; for a party that has not registered yet, give new=True.",
            )
        request = admin_pb2.SetBudgetRequest(
            party=party,
            group=group,
            adjacency=adjacency,
            epsilon=epsilon,
            delta=delta,
            reason=reason,
            filter=filter,
        )
        reply = admin_call(self.site, lambda stub: stub.SetBudget(request))
        require_filter(filter, reply)
        return _budget(reply.budget)

    def charges(self, first: datetime | None = None, last: datetime | None = None) -> Sequence[SessionCharge]:
        """Return what every session cost every unit at worst, from day `first` to day `last` (UTC).

        Raises what the guardian refuses, and `server.unreachable`.
        """
        return self.report(first, last).charges

    def report(self, first: datetime | None = None, last: datetime | None = None) -> ChargeReport:
        """Return budgets, charges and the audit head, as `ostraka guardian report` prints them."""
        federation = load_site(self.site).federation
        begin, end = span(first, last)
        now = int(SystemClock().now() * 1000)
        return admin_call(self.site, lambda stub: read_report(stub, federation, now, begin, end))

    def audit(self, heads: Sequence[Path | str] = ()) -> AuditCheck:
        """Check the ledger's audit log: its chain, signatures and balances; needs no guardian that serves.

        Args:
            heads: files that parties keep (`ostraka party audit-head`), which must be in the log.

        Raises:
            OstrakaError: `ledger.tampered` naming the first bad row; other `ledger.*`; `data.missing`.
        """
        where, ca = locate(None, self.site, None, None)
        return verify_ledger(where, ca, [Path(head) for head in heads])


def _budget(message: admin_pb2.Budget) -> UnitBudget:
    return UnitBudget(
        party=message.party,
        group=message.group,
        adjacency=message.adjacency,
        epsilon=message.epsilon,
        delta=message.delta,
        order=message.order,
        spent=message.epsilon_worst_case,
        reserved=message.epsilon_reserved,
        left=amount_left(message),
        enforce=message.enforce,
        state=message.state,
        unguaranteed=message.unguaranteed,
    )
