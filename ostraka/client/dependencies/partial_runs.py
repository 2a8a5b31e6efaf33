"""Runs of one pool that ask about some labels each, in sub-folders of one folder."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ostraka.client.run.run_folder import open_run
from ostraka.client.run.run_planner import RunPlanner
from ostraka.client.session.answers import Answer
from ostraka.client.session.batch import Peers, Queries
from ostraka.client.session.protocols import Switches
from ostraka.client.session.recovery import close
from ostraka.client.session.run_state import STATE_FILE, RunState, RunStore
from ostraka.client.session.session import SessionDriver
from ostraka.common.errors import OstrakaError
from ostraka.common.files.storage import room_in
from ostraka.common.mechanism import Mechanism
from ostraka.common.plan.fields import NONCE_BYTES


@dataclass(frozen=True)
class Pool:
    """What all runs share.

    Attributes:
        folder: with a sub-folder for each run.
        features: of the pool, prepared, float32 (N, F).
        planner: makes the plan of all labels.
        switches: how sessions have queries voted on and votes tallied.
        random: so many random bytes.
    """

    folder: Path
    features: NDArray[np.float32] = field(repr=False)
    planner: RunPlanner
    switches: Switches
    random: Callable[[int], bytes]

    @cached_property
    def sent(self) -> NDArray[np.float32]:
        """What is sent of these features, made once."""
        return self.planner.sent(self.features)


class PartialRun:
    """One run, made when it is first asked something."""

    def __init__(
        self, pool: Pool, name: str, labels: tuple[str, ...], mechanism: Mechanism | None = None
    ) -> None:
        """Take the sub-folder's `name`, the `labels` that are asked about, and their own mechanism, if any.

        A run found there goes on; raises `run.mismatch` where it is for another pool, task or plan.
        """
        self.name = name
        self._pool = pool
        self._labels = labels
        self._mechanism = mechanism or pool.planner.options.mechanism
        self._session: SessionDriver | None = None
        self._store = self._open() if (pool.folder / name / STATE_FILE).exists() else None

    @property
    def made(self) -> bool:
        """Whether there is a run yet."""
        return self._store is not None

    @property
    def store(self) -> RunStore:
        """The run's store, made if there was none."""
        self._store = self._store or self._open()
        return self._store

    @property
    def answers(self) -> Mapping[int, Answer]:
        """The answers so far, by row of the pool."""
        return self._store.state.answers() if self._store else {}

    @property
    def left_out(self) -> Mapping[str, OstrakaError]:
        """The parties that were left out of the last batch, and why."""
        return self._session.left_out if self._session else {}

    @property
    def planner(self) -> RunPlanner:
        """The planner of these labels alone."""
        planner = self._pool.planner
        mechanism = self._mechanism.narrowed(len(self._labels))
        chosen = {"mechanism": mechanism, "labels": self._labels}
        return replace(planner, options=planner.options.model_copy(update=chosen))

    def pending(self, rows: Iterable[int]) -> set[int]:
        """Those of these rows that are not settled."""
        return set(rows) - self.answers.keys()

    def advance(self, rows: Iterable[int], peers: Peers, on_progress: Callable[[RunState], None]) -> bool:
        """Ask one batch of those of these rows that are pending; False where a public limit ended it."""
        pending = self.pending(rows)
        if not pending:
            return True
        if self._session is None:
            queries = Queries(self._pool.sent)
            self._session = SessionDriver.open(peers, self.store, queries, on_progress, self._pool.switches)
        return self._session.advance(pending)

    def close(self, peers: Peers) -> None:
        """End the session unless it has ended."""
        if not self.store.state.closed:
            close(peers.guardian, self.store.state.session_id)
            self.store.close()

    def _open(self) -> RunStore:
        pool, folder = self._pool, self._pool.folder / self.name
        with room_in(folder.parent):
            folder.mkdir(exist_ok=True)
        return open_run(
            folder, pool.planner.task, pool.features, None, self.planner, pool.random(NONCE_BYTES)
        )
