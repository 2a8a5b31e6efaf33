"""Durable state of a run of sums: its plan, its session, and every released sum."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, ValidationError

from ostraka.client.peers.guardian_peer import STEP_BYTES
from ostraka.client.session.batch import Ticketed
from ostraka.client.session.summed_rounds import OpenRound, ReleasedSum
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.files.durable import replace_durably
from ostraka.common.files.versions import read_versioned
from ostraka.common.plan.plan import Plan
from ostraka.common.plan.schedules import read_schedule
from ostraka.common.sharing.ballots import VOTE
from ostraka.common.validation import FrozenModel

STATE_FILE = "sums.json"


class KeptSum(FrozenModel):
    """A released sum.

    Attributes:
        question: SHA-256 of the question, in hex.
        batch: the batch id.
        records: number of records in it, each counted with its weight.
        parties: the parties of these records.
    """

    question: str
    batch: int
    records: float
    parties: tuple[str, ...]


class SumsState(FrozenModel):
    """Progress of a run of sums.

    Attributes:
        plan: serialized, in hex.
        session: its id once opened.
        batch: the next batch id.
        open: the round in progress.
        asked: SHA-256 of the question of the last round that was begun, in hex.
        records: by site, the weighted number of records in the ticket of the round in progress.
        kept: the released sums, in order.
        stopped: why nothing more is asked; empty unless a budget or the grant ended.
    """

    version: Literal[1] = 1
    plan: str
    session: str = ""
    batch: int = 1
    open: OpenRound | None = None
    asked: str = ""
    records: Mapping[str, float] = Field(default_factory=dict)
    kept: tuple[KeptSum, ...] = ()
    stopped: str = ""


class SumStore:
    """A run's state and its sums in a folder; files are replaced whenever they change."""

    def __init__(self, folder: Path, state: SumsState) -> None:
        """Take the state of `folder`; the caller must have stored it."""
        self.folder = folder
        self.state = state

    @classmethod
    def create(cls, folder: Path, plan: bytes) -> Self:
        """Create a new run of a serialized plan in an existing `folder`."""
        store = cls(folder, SumsState(plan=plan.hex()))
        store.keep()
        return store

    @classmethod
    def load(cls, folder: Path) -> Self | None:
        """Load the run in `folder`; None if there is none.

        Raises:
            OstrakaError: `data.newer` for a later version's, `run.mismatch` for a damaged one.
        """
        path = folder / STATE_FILE
        try:
            return cls(folder, read_versioned(path, SumsState))
        except FileNotFoundError:
            return None
        except (OSError, ValidationError) as exc:
            raise OstrakaError(
                ErrorCode.RUN_MISMATCH, f"{path} is damaged: remove the folder, and ask for the sums again."
            ) from exc

    @classmethod
    def load_own(cls, folder: Path, *, known: bool) -> Self | None:
        """Load the run in `folder`; raise `run.mismatch` for sums that are not `known` as the caller's own.

        Released sums are paid for: a command that started anew in their folder would lose them.
        """
        store = cls.load(folder)
        if store is not None and not known:
            raise OstrakaError(
                ErrorCode.RUN_MISMATCH, f"{folder} holds sums of something else: name another --out folder."
            )
        return store

    @property
    def changed_unix_s(self) -> float:
        """Time of the last progress."""
        return (self.folder / STATE_FILE).stat().st_mtime

    @property
    def plan_bytes(self) -> bytes:
        """The serialized plan."""
        return bytes.fromhex(self.state.plan)

    @property
    def plan(self) -> Plan:
        """The parsed plan."""
        return Plan.parse(self.plan_bytes)

    @property
    def open_round(self) -> OpenRound | None:
        """The round in progress, see `RoundStore.open_round`."""
        return self.state.open

    def begin_round(self) -> int:
        """Store that a round begins, see `RoundStore.begin_round`."""
        batch = self.state.batch
        self.keep(batch=batch + 1, open=OpenRound(batch=batch), records={})
        return batch

    def keep_ticket(self, ticket: Ticketed) -> None:
        """Store the ticket's records, which only the ticket determines; see `RoundStore.keep_ticket`."""
        self.keep(records=count_records(ticket))

    def keep_frozen(self, parties: Sequence[str]) -> None:
        """Store the parties in the sum, see `RoundStore.keep_frozen`."""
        assert self.state.open is not None  # noqa: S101 - a round is under way
        self.keep(open=self.state.open.model_copy(update={"frozen": tuple(parties)}))

    def drop_round(self) -> None:
        """Store that the round is dead, see `RoundStore.drop_round`."""
        self.keep(open=None)

    def keep_sum(self, released: ReleasedSum) -> KeptSum:
        """Store the sum that was released for the last question."""
        kept = KeptSum(
            question=self.state.asked,
            batch=released.batch,
            records=sum(self.state.records.get(site, 0.0) for site in released.parties),
            parties=released.parties,
        )
        # The sum before the state that refers to it: after a crash in between, it is fetched again.
        replace_durably(self._file(released.batch), released.total.astype("<i8").tobytes())
        self.keep(kept=(*self.state.kept, kept), open=None)
        return kept

    def read_sum(self, kept: KeptSum, width: int) -> NDArray[np.int64]:
        """Return a released sum (width,) in steps of 2^-16; raise `run.mismatch` if its file is
        incomplete."""
        path = self._file(kept.batch)
        try:
            data = path.read_bytes()
        except FileNotFoundError:
            data = b""
        if len(data) != width * STEP_BYTES:
            raise OstrakaError(
                ErrorCode.RUN_MISMATCH,
                f"{path} is gone or cut short: restore it, or name another --out folder.",
            )
        return np.frombuffer(data, "<i8").astype(np.int64)

    def keep(self, **changed: object) -> None:
        """Store a changed state, durably."""
        self.state = self.state.model_copy(update=changed)
        replace_durably(self.folder / STATE_FILE, self.state.model_dump_json().encode())

    def _file(self, batch: int) -> Path:
        return self.folder / f"sum-{batch}.i8"


def count_records(ticket: Ticketed) -> dict[str, float]:
    """Return, by site, the weighted number of records in a ticket of one round."""
    return {
        one.participant.site: sum(
            sum(cohort.records) * cohort.weight / VOTE
            for cohort, scheduled in zip(
                one.participant.cohorts, read_schedule(one, ticket.read.size), strict=True
            )
            if scheduled.all()
        )
        for one in ticket.read.schedule
    }
