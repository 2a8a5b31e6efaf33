"""Labels for a pool, asked in several runs of some labels each, batch by batch."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ostraka.client.dependencies.partial_runs import PartialRun, Pool
from ostraka.client.run import labelling
from ostraka.client.run.combined import RULES_FILE, SETTINGS_FILE, Combined
from ostraka.client.run.labelling import LabelResult
from ostraka.client.session.batch import Peers
from ostraka.client.session.run_state import STATE_FILE, Stop
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.plan.plan import Plan


@dataclass(frozen=True)
class PartedResult(LabelResult):
    """What the runs have come to; a query counts as asked once nothing of it is left to ask.

    Attributes:
        implied: labels that are absent because their parent is, and that nobody was asked about.
        partly: queries of which some labels were asked and others are still to be.
    """

    implied: int = 0
    partly: int = 0


class SeveralRuns(ABC):
    """Drives the runs of one pool, of which `first` is asked before the others."""

    def __init__(self, pool: Pool, first: PartialRun) -> None:
        """Take the pool and the run that leads; runs found in the pool's folder go on."""
        self.pool = pool
        self.first = first

    @abstractmethod
    def due(self) -> Iterator[tuple[PartialRun, Collection[int]]]:
        """Every run with the rows that it is to ask, in their order."""

    @abstractmethod
    def parts(self) -> list[PartialRun]:
        """Return the runs that exist, the leading one before the others."""

    @abstractmethod
    def combined(self) -> Combined:
        """Return what is known."""

    @property
    def plan(self) -> Plan:
        """The plan of the labels that are asked first."""
        return self.first.store.state.parsed_plan()

    def check(self) -> None:
        """Raise `budget.too_small`, before anything is asked, where budgets pay for no query."""
        if not self.first.made:
            self.first.planner.check()

    def run(self, peers: Peers, on_progress: Callable[[], None]) -> None:
        """Ask until every query is settled or a public limit ends it, and close what is done."""
        on_progress()
        while any(part.pending(rows) for part, rows in self.due()):
            for part, rows in self.due():
                if not part.advance(rows, peers, lambda _: on_progress()):
                    return
        for part in self.parts():
            part.close(peers)

    def result(self) -> PartedResult:
        """Return the outcome of the runs."""
        combined = self.combined()
        states = list(combined.parts.values())
        plan, whole = states[0].parsed_plan(), combined.answers.keys() - combined.partly
        return PartedResult(
            run=self.pool.folder,
            queries=combined.queries,
            asked=len(whole),
            answered=sum(combined.answers[row] is not None for row in whole),
            stopped=next((state.stopped for state in states if state.stopped), None),
            enforce=states[0].enforce,
            bound=states[0].bound,
            encoding=plan.encoding,
            tally=plan.tally,
            ballots=plan.ballots,
            lost=sum(state.lost() for state in states),
            left_out=self._left_out(),
            steps=self.pool.switches.meter.steps,
            unguaranteed=tuple(sorted({site for state in states for site in state.unguaranteed})),
            implied=sum(map(len, combined.implied.values())),
            partly=len(combined.partly),
        )

    def _left_out(self) -> Mapping[str, Stop]:
        errors = {site: error for part in self.parts() for site, error in part.left_out.items()}
        return {site: Stop(code=error.code, message=error.message) for site, error in sorted(errors.items())}


def check_kept(folder: Path, own: str, *, same: bool) -> None:
    """Raise `run.mismatch` where a folder holds a run of another kind than the file `own` stands for.

    `same` is whether that file, if it is there, says what is asked for now.
    """
    others = {STATE_FILE, RULES_FILE, SETTINGS_FILE} - {own}
    if not same or any((folder / other).exists() for other in others):
        raise OstrakaError(
            ErrorCode.RUN_MISMATCH,
            f"{folder} holds a run without {own.removesuffix('.toml').replace('-', ' ')}, or with others: "
            "repeat its options to resume it, or name another --out folder.",
        )


def as_json(result: PartedResult) -> dict[str, Any]:
    """Return the result in JSON's types."""
    return labelling.as_json(result) | {"implied": result.implied, "partly": result.partly}
