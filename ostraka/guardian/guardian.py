"""The privacy guardian from Python: serve it, set budgets, read charges and the audit log."""

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
    """A unit's budget, and its worst-case spending.

    Attributes:
        party: the party that owns the records; `group` names some of its records.
        adjacency: what neighbouring datasets differ in: a "record", or the "label" of one.
        epsilon: the limit at `delta`, kept at Renyi order `order`, or 0 for a Gaussian filter.
        spent: worst-case epsilon of everything released; `reserved` is that of batches under way.
        left: the rest of `epsilon`; None if it depends on votes.
        enforce: which costs count: "worst_case" or "data_dependent".
        state: "active", "frozen" or "withdrawn".
        unguaranteed: whether there was a release that no epsilon covers (ttac).
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
    """A federation's privacy guardian, for its operator and its administrators."""

    def __init__(self, site: Path | str) -> None:
        """Take a site folder: the guardian's own to serve and audit, an administrator's for budgets."""
        self.site = Path(site)

    @contextmanager
    def serve(self, *, insecure: bool = False) -> Iterator[str]:
        """Serve sessions within the block, and yield the guardian's address; drain at its end.

        `insecure` serves without TLS, on loopback only. Raises `config.invalid`, `ledger.*`, `server.*`.
        """
        from ostraka.guardian.serving.server import running

        configure_logging_once()
        with running(self.site, insecure=insecure) as address:
            yield address

    def budgets(self, party: str = "") -> tuple[UnitBudget, ...]:
        """Return every unit's budget, or the budgets of one party, from the running guardian.

        Raises the guardian's refusal, and `server.unreachable`.
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
        """Set a unit's budget for the first time, or lower it.

        Raising a budget needs its party's signature, on the command line.

        Args:
            party: the party that owns the records.
            epsilon: the limit.
            delta: the delta of `epsilon`; 0 means the unit's own, else the policy's.
            group: which of the party's records.
            adjacency: what is charged: a "record", or the "label" of one.
            filter: how costs add up, fixed for good: "gaussian" suits sums and trainings, "renyi" votes; ""
                means the unit's own, else the guardian's choice.
            reason: the reason, kept in the audit log for good.
            new: whether the party may be one that has not registered yet.

        Raises:
            OstrakaError: `party.unknown`, the guardian's refusal, and `server.unreachable`.
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
        """Return each session's worst-case cost to each unit, from day `first` to day `last` (UTC).

        Raises the guardian's refusal, and `server.unreachable`.
        """
        return self.report(first, last).charges

    def report(self, first: datetime | None = None, last: datetime | None = None) -> ChargeReport:
        """Return budgets, charges and the audit head, as `ostraka guardian report` prints them."""
        federation = load_site(self.site).federation
        begin, end = span(first, last)
        now = int(SystemClock().now() * 1000)
        return admin_call(self.site, lambda stub: read_report(stub, federation, now, begin, end))

    def audit(self, heads: Sequence[Path | str] = ()) -> AuditCheck:
        """Check the ledger's audit log: its chain, signatures and balances; no guardian need be running.

        Args:
            heads: files that parties keep (`ostraka party audit-head`), which the log must contain.

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
