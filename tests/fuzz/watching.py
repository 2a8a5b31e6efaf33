"""What must hold for servers and ledger during and after nonsense is sent."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import grpc
from grpc_health.v1 import health_pb2, health_pb2_grpc

from ostraka.common.errors import OstrakaError
from ostraka.common.plan.plan import Plan
from ostraka.deploy.simulation.processes import Child
from ostraka.guardian.ledger import LedgerReader, verify
from ostraka.guardian.ledger.sessions import batches, recorded_charges, sessions
from ostraka.guardian.ledger.site import ledger_location
from ostraka.guardian.ledger.units import balances
from tests.fuzz.calling import outcome_of
from tests.fuzz.campaign import Numbered

EVERY_S = 1.0
HEALTH_S = 20.0
GROWTH_MIB = 768
"""Maximum growth of a process."""


class Watch:
    """Checks every second the processes, their logs, their memory, and whether each server is healthy."""

    def __init__(
        self,
        children: list[Child],
        logs: list[Path],
        channels: dict[str, grpc.Channel],
        campaign: Numbered,
    ) -> None:
        """Take the processes, all logs, a channel to each server, and the running campaign."""
        self._children = children
        self._channels = channels
        self._campaign = campaign
        self._since = 0
        self._read = {log: log.stat().st_size for log in logs}
        self._pids = {"fuzz": os.getpid()} | {child.name: child.process.pid for child in children}
        self._before = {name: resident_mib(pid) for name, pid in self._pids.items()}
        self.most = dict(self._before)

    @contextmanager
    def watching(self, show: Callable[[], None] = lambda: None) -> Iterator[None]:
        """Watch within the block; `show` is called at every check, to report progress."""
        over = threading.Event()

        def watch() -> None:
            while not over.wait(EVERY_S):
                self.look()
                show()

        thread = threading.Thread(target=watch, name="watch", daemon=True)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()
            self.look()

    def look(self) -> None:
        """Check once."""
        latest = self._campaign.latest
        for child in self._children:
            if child.process.poll() is not None:
                self._tell(f"{child.name} ended with status {child.process.returncode}")
            else:
                self._look_at_memory(child.name)
        self._look_at_memory("fuzz")
        for log in self._read:
            self._look_at_log(log)
        for name, channel in self._channels.items():
            try:
                health_pb2_grpc.HealthStub(channel).Check(  # type: ignore[attr-defined, unused-ignore]
                    health_pb2.HealthCheckRequest(), timeout=HEALTH_S
                )
            except grpc.RpcError as error:
                outcome = outcome_of(error)
                self._tell(f"Health of {name} says {outcome.status.name}: {outcome.said}")
        self._since = latest

    def _look_at_memory(self, name: str) -> None:
        now = resident_mib(self._pids[name])
        self.most[name] = max(self.most[name], now)
        if now > self._before[name] + GROWTH_MIB:
            self._tell(f"{name} grew by more than {GROWTH_MIB} MiB")

    def _look_at_log(self, log: Path) -> None:
        with log.open("rb") as file:
            file.seek(self._read[log])
            lines = file.read().splitlines(keepends=True)
        for line in lines:
            if not line.endswith(b"\n"):
                return
            self._read[log] += len(line)
            problem = problem_of(line.decode(errors="replace"))
            if problem is not None:
                self._tell(f"{log.stem} logged {problem}")

    def _tell(self, what: str) -> None:
        self._campaign.tally.found(f"{self._since}-{self._campaign.latest}", what)


def resident_mib(pid: int) -> int:
    """Memory of a process, in MiB."""
    pages = Path(f"/proc/{pid}/statm").read_text().split()[1]
    return int(pages) * 4096 >> 20


def problem_of(line: str) -> str | None:
    """Return what is wrong with a line of a log: an unforeseen error, or a line that is no event."""
    try:
        event = json.loads(line)
    except ValueError:
        return f"what is no event: {line[:200]}"
    if "exception" not in event and event.get("event") != "rpc.internal":
        return None
    told = {key: value for key, value in event.items() if key != "timestamp"}
    return json.dumps(told)[:500]


def problems_of_ledger(guardian: Path, ca_pem: bytes, federation: str) -> Iterator[str]:
    """Yield what does not hold in a guardian's ledger."""
    where = ledger_location(guardian)
    try:
        verify(where, ca_pem=ca_pem, federation=federation)
    except OstrakaError as error:
        yield f"the ledger does not verify: {error.message}"
    with LedgerReader.open_read_only(where) as ledger:
        for budget in ledger.read(balances.all_budgets):
            gone = budget.spent + budget.reserved
            if gone > budget.budget and budget.state != "withdrawn":
                yield f"{budget.key} has spent and reserved {gone} of {budget.budget}"
        for charge in ledger.read(recorded_charges.charges, kind="batch"):
            batch = ledger.read(batches.find_batch, charge.session_id, charge.batch_id)
            plan = Plan.parse(ledger.read(sessions.find_session, charge.session_id).plan)
            # A blind tally is charged before its circuits are sent, encrypted queries once a party evaluated.
            early = plan.tally == "blind" or plan.encoding == "ckks"
            if batch is None or (batch.answers is None and not early):
                yield f"batch {charge.batch_id} of {charge.session_id} was charged and has no answers"
