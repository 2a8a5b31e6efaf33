"""One round of a training: every party's teachers learn from the average, and one sum is released."""

from collections.abc import Iterator, Mapping

import numpy as np
from numpy.typing import NDArray

from ostraka.client.peers.event_loop import run_async
from ostraka.client.peers.guardian_peer import STEP_BYTES, GuardianPeer, Sum
from ostraka.client.session.asking import ask_all, failures
from ostraka.client.session.batch import Granted, Ticketed
from ostraka.client.session.stragglers import Patience, Waiting
from ostraka.client.session.votes import CollectedShares
from ostraka.client.training.peer import TrainingPeer, Work
from ostraka.client.training.training_state import AveragedModel
from ostraka.common.clock import Clock
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.sharing.modulus import Modulus, RingArray
from ostraka.common.sharing.shares import expand


class SeededShares(Mapping[str, RingArray]):
    """Shares by site that are expanded when they are read, so that few of them are in memory at once."""

    def __init__(self, seeds: Mapping[str, bytes], width: int, ring: Modulus) -> None:
        """Take the seeds of shares (1, width) in `ring`."""
        self._seeds = seeds
        self._width = width
        self._ring = ring

    def __getitem__(self, site: str) -> RingArray:
        return expand(self._seeds[site], 1, self._width, self._ring)

    def __iter__(self) -> Iterator[str]:
        return iter(self._seeds)

    def __len__(self) -> int:
        return len(self._seeds)


class UpdateCollector:
    """Has the parties of a round learn, each from the average and what it knows of its own updates."""

    def __init__(
        self, parties: Mapping[str, TrainingPeer], session: Granted, counted: Mapping[str, int], clock: Clock
    ) -> None:
        """Take an open session; `counted` says by site which update of it counted last."""
        self._parties = parties
        self._session = session
        self._counted = counted
        self._clock = clock

    def collect(self, ticket: Ticketed, queries: AveragedModel) -> CollectedShares:
        """Return this side's shares of the updates of all parties of the ticket, or why one gave none.

        Stragglers are cut off.
        """
        session = self._session
        work = Work(session.plan_bytes, session.entries, queries, ticket.entries)

        async def ask(site: str) -> bytes:
            return await self._parties[site].train(work, self._counted.get(site))

        waiting = Waiting(Patience.of(ticket, session, self._clock))
        came = run_async(ask_all(ticket.sites, ask, waiting))
        seeds = {site: seed for site, seed in came.items() if not isinstance(seed, OstrakaError)}
        return CollectedShares(SeededShares(seeds, len(queries.theta), session.plan.modulus), failures(came))


class Summing:
    """Has the guardian release sums."""

    def __init__(self, guardian: GuardianPeer, session: Granted) -> None:
        self._guardian = guardian
        self._session = session

    def answers(self, batch_id: int, total: RingArray, queries: AveragedModel) -> NDArray[np.int64]:
        """Return the sum that a round releases, (d,) in steps of 2^-16."""
        ring = self._session.plan.modulus
        rows, width = total.shape
        sent = Sum(ring.to_bytes(total), rows, width)
        released = self._guardian.release_update(self._session.grant.session_id, batch_id, sent)
        return read_update(released, width)


def read_update(data: bytes, width: int) -> NDArray[np.int64]:
    """Read a released sum, (width,); raise `message.invalid` for another size."""
    if len(data) != width * STEP_BYTES:
        raise OstrakaError(
            ErrorCode.MESSAGE_INVALID,
            "The guardian released no sum of these parameters; use the same version everywhere.",
        )
    return np.frombuffer(data, "<i8").astype(np.int64)
