"""Sums over all parties' records through the services: a session whose rounds each answer one question."""

import hashlib
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ostraka.client.peers.event_loop import run_async
from ostraka.client.peers.guardian_peer import GuardianPeer
from ostraka.client.session.asking import ask_all, failures
from ostraka.client.session.batch import Granted, Ticketed
from ostraka.client.session.permissions import Permissions
from ostraka.client.session.recovery import close
from ostraka.client.session.stragglers import Patience, Waiting
from ostraka.client.session.summed_rounds import SeededShares, SummedRounds
from ostraka.client.session.votes import CollectedShares, share_verified
from ostraka.client.sums.peer import AskedSum, SumPeer
from ostraka.client.sums.source import NoisySum
from ostraka.client.sums.sum_store import KeptSum, SumStore
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.mechanism import RecordSums
from ostraka.common.sharing import FRACTION_BITS
from ostraka.common.sums.questions import AnyQuestion
from ostraka.common.sums.wire import question_bytes

OnProgress = Callable[[int, int], None]
"""Called with the number of released sums, and their total."""


@dataclass(eq=False, repr=False, frozen=True)
class SumCollector:
    """Lets the parties of a round sum over their records."""

    parties: Mapping[str, SumPeer]
    session: Granted
    permissions: Permissions
    random: Callable[[int], bytes] = secrets.token_bytes

    def collect(self, ticket: Ticketed, queries: bytes) -> CollectedShares:
        """Return this side's shares of the sums of all parties in the ticket, or the party's error.

        `queries` is a serialized question. Stragglers are cut off.
        """
        session = self.session
        width = session.plan.mechanism.width(session.plan.classes)
        asked = AskedSum(session.plan_bytes, session.entries, ticket.entries, queries, width)

        async def ask(site: str) -> bytes:
            return await self.parties[site].add_up(asked)

        waiting = Waiting(Patience.of(ticket, session, self.permissions.clock))
        came = run_async(ask_all(ticket.sites, ask, waiting))
        seeds = {site: seed for site, seed in came.items() if not isinstance(seed, OstrakaError)}
        if session.plan.ballots == "verified":
            verified = share_verified(session, ticket, seeds, self.permissions.credentials, self.random)
            return replace(verified, failures=failures(came))
        return CollectedShares(SeededShares(seeds, width, session.plan.modulus), failures(came))


class SummingSession:
    """A `SumSource` over the services: the session of a run's plan.

    A released sum is never asked for again: a resumed run gets the sums that it has, if it asks the same
    questions in the same order. No server is called for these, because the grant may have ended since.
    """

    def __init__(
        self,
        guardian: GuardianPeer,
        parties: Mapping[str, SumPeer],
        permissions: Permissions,
        store: SumStore,
        on_progress: OnProgress = lambda done, total: None,
    ) -> None:
        """Take the plan's guardian and parties; the session is opened at the first unanswered question."""
        self._guardian = guardian
        self._parties = parties
        self._permissions = permissions
        self._store = store
        self._on_progress = on_progress
        self._plan = store.plan
        self._opened: tuple[SummedRounds[bytes], SumCollector] | None = None
        self._next = 0

    @property
    def left_out(self) -> Mapping[str, OstrakaError]:
        """The parties that were left out of the last sum in this process, and why."""
        return {} if self._opened is None else self._opened[0].left_out

    def ask(self, question: AnyQuestion) -> NoisySum:
        """Return the noisy sum, from the store if it was released before; see `SumSource.ask`.

        Raises:
            OstrakaError: `run.mismatch` if the run asked something else at this position, one of `STOPS` if
                no more questions are answered, and errors after which somebody has to act.
        """
        data = question_bytes(question)
        kept = self._find_or_take(data)
        if kept.question != hashlib.sha256(data).hexdigest():
            raise OstrakaError(
                ErrorCode.RUN_MISMATCH,
                f"{self._store.folder} holds sums of other questions: repeat the command as it was, with"
                " the same records, or name another --out folder.",
            )
        self._next += 1
        self._on_progress(self._next, self._plan.queries)
        return self._read(kept)

    def close(self) -> None:
        """Close the session: nothing more is asked."""
        if self._store.state.session:
            close(self._guardian, self._store.state.session)

    def _open(self) -> tuple[SummedRounds[bytes], SumCollector]:
        """Open the session: a new one, or the one that the same plan opened before."""
        if self._opened is None:
            plan_bytes = self._store.plan_bytes
            signed = self._guardian.open_session(plan_bytes).grant
            grant = self._permissions.grant(signed, plan_bytes)
            self._store.keep(session=grant.session_id)
            granted = Granted(plan_bytes, self._plan, signed, grant)
            rounds = SummedRounds[bytes](
                self._guardian, self._parties, self._permissions, granted, self._store
            )
            self._opened = rounds, SumCollector(self._parties, granted, self._permissions)
        return self._opened

    def _find_or_take(self, data: bytes) -> KeptSum:
        """Return the next stored sum; else that of a round in progress, or of a new one."""
        if self._next < len(self._store.state.kept):
            return self._store.state.kept[self._next]
        rounds, collector = self._open()
        released = rounds.settle()
        if released is None:
            self._store.keep(asked=hashlib.sha256(data).hexdigest())
        while released is None:
            released = rounds.take(data, collector)
        return self._store.keep_sum(released)

    def _read(self, kept: KeptSum) -> NoisySum:
        mechanism = self._plan.mechanism
        assert isinstance(mechanism, RecordSums)  # noqa: S101 - a plan of sums
        blocks = mechanism.blocks
        ends = np.cumsum([block.width for block in blocks])[:-1]
        steps = self._store.read_sum(kept, sum(block.width for block in blocks))
        total: NDArray[np.float64] = np.ldexp(steps.astype(np.float64), -FRACTION_BITS)
        return NoisySum(
            tuple(np.split(total, ends)), tuple(block.sigma for block in blocks), kept.records, kept.parties
        )
