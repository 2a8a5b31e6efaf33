"""One open batch in memory, as a state machine (docs/architecture.md#a-batch-at-the-guardian).

`Collecting` becomes `Frozen`. If the guardian sums, it becomes `Summed` by the querying party's sum, `Drawn`
when noise is added, and `Released` when the ledger has the answers; a blind tally makes it `Tallied` and
`ReleasedBlindly`. From any state before its release it may become `Dead`.
"""

import hashlib
import hmac
import math
import threading
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.plan.plan import Plan
from ostraka.common.sharing.modulus import RingArray
from ostraka.common.sharing.shares import RowSums
from ostraka.common.verified.verifier import Submission
from ostraka.guardian.blind.blind_tally import BlindTally
from ostraka.guardian.ledger import UnitKey
from ostraka.guardian.noise import DrawnNoise
from ostraka.guardian.sessions.attestations import RefusedBallot
from ostraka.guardian.sessions.cohorts import Attendance
from ostraka.guardian.sessions.outcome import Outcome
from ostraka.guardian.sessions.refusals import not_open
from ostraka.guardian.sessions.verified_ballots import Verification, VerifiedBallots
from ostraka.protos.ostraka.v1 import common_pb2


@dataclass(frozen=True)
class Share:
    """One sender's ring elements (rows x width), a student's scores if there are any, and their digest."""

    values: RingArray = field(repr=False)
    sha256: bytes
    scores: NDArray[np.int64] | None = field(repr=False, default=None)

    @classmethod
    def of(cls, values: RingArray, scores: NDArray[np.int64] | None = None) -> "Share":
        """Return the share of `values`, rows x width, and `scores`, rows x classes in units of 2^-16."""
        digest = hashlib.sha256(repr(values.shape).encode() + values.tobytes())
        if scores is not None:
            digest.update(repr(scores.shape).encode() + scores.tobytes())
        return cls(values, digest.digest(), scores)

    def same(self, other: "Share") -> bool:
        """Whether both carry the same bytes."""
        return hmac.compare_digest(self.sha256, other.sha256)

    def drop_values(self) -> "Share":
        """Return what distinguishes a retry from another share, without the share's values."""
        return Share(self.values[:0, :0].copy(), self.sha256)


@dataclass
class Collecting:
    """Shares arrive.

    Attributes:
        shares: the received shares, by site.
        refused: sites whose ballots are not votes.
        noted: refused sites that the audit log names.
        rows_checked: sites whose ballots' row sums were checked.
    """

    shares: dict[str, Share] = field(default_factory=dict, repr=False)
    refused: frozenset[str] = frozenset()
    noted: frozenset[str] = frozenset()
    rows_checked: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Frozen:
    """The party set is fixed; no sum has arrived.

    Attributes:
        parties: sites whose shares are summed.
        shares: all shares received by then, by site; only digests of those that are not summed, or no longer.
        refused: sites whose ballots are not votes; the audit log names them all.
    """

    parties: frozenset[str]
    shares: Mapping[str, Share] = field(repr=False)
    refused: frozenset[str]

    @property
    def halves(self) -> list[RingArray]:
        """The shares that are summed, in the order of their sites."""
        return [self.shares[site].values for site in sorted(self.parties)]


@dataclass(frozen=True)
class Summed(Frozen):
    """The one sum that the querying party may send has arrived."""

    request: Share = field(repr=False)


@dataclass(frozen=True)
class Drawn(Summed):
    """Noise was added: a retry gets the same outcome, whether or not the ledger has it yet."""

    outcome: Outcome = field(repr=False)


@dataclass(frozen=True)
class Released(Drawn):
    """The ledger has answers and charges, and their costs were handed on."""


@dataclass(frozen=True)
class Tallied(Frozen):
    """The tally is blind: nobody here sees the histogram."""

    tally: BlindTally = field(repr=False)


@dataclass(frozen=True)
class ReleasedBlindly(Tallied):
    """The answers of its blind tally are charged, so only retries can follow."""


@dataclass(frozen=True)
class Dead:
    """It will never be released, and its shares are gone."""


State = Collecting | Frozen | Dead
"""`Frozen` includes all states that follow it."""


def _keep_values(shares: Mapping[str, Share], *, among: frozenset[str]) -> Mapping[str, Share]:
    """Return shares with values only for these sites; unsummed shares need no values."""
    return {site: share if site in among else share.drop_values() for site, share in shares.items()}


@dataclass(eq=False)
class Batch:
    """One batch of a session; its shares never leave memory. Safe to use from many threads.

    Callbacks of a step, such as a write to the ledger, run under the batch's lock. Steps of one batch
    therefore come one after the other, and none sees it dead or released before the ledger does. Callbacks
    must not call the batch.

    Attributes:
        plan: of its session.
        ticket: the signed ticket's contents.
        attendance: who votes on which query by the ticket.
        noise: the randomness of its release, drawn ahead.
        units: the units that its release charges, if their parties are frozen.
        release_by: Unix seconds after which it is dead although its party set is frozen.
        ends_at: Unix seconds after which nothing of its session is answered.
        verified: the ballots to verify, if the plan requires verified ballots.
        state: its present state. States are replaced under the lock, so every reader sees a complete one.
    """

    plan: Plan
    ticket: common_pb2.Ticket
    attendance: Attendance
    noise: DrawnNoise
    units: frozenset[UnitKey] = frozenset()
    release_by: float = math.inf
    ends_at: float = math.inf
    verified: VerifiedBallots | None = None
    state: State = field(default_factory=Collecting, init=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False, repr=False)
    """Held for a whole step: guards `state` and its contents, `verified` and the tally."""

    @property
    def is_released(self) -> bool:
        """Whether its answers are charged."""
        return isinstance(self.state, Released | ReleasedBlindly)

    @property
    def dies_at(self) -> float:
        """Unix seconds after which it is dead or, if released, no longer kept for retries."""
        match self.state:
            case Collecting():
                return self.ticket.expires_unix_ms / 1000
            case Released() | ReleasedBlindly():
                return self.ends_at
            case Frozen():
                return self.release_by
            case Dead():
                return math.inf

    @cached_property
    def scheduled(self) -> frozenset[str]:
        """The parties of the ticket."""
        return frozenset(schedule.participant.site for schedule in self.ticket.schedule)

    def check_scheduled(self, site: str) -> None:
        """Raise `ticket.invalid` for a site that does not vote in this batch."""
        if site not in self.scheduled:
            raise OstrakaError(ErrorCode.TICKET_INVALID, f"Site {site} is not scheduled for this batch.")

    def check_awaited(self, site: str) -> None:
        """Raise `batch.frozen` if the party set is frozen without `site`, or `batch.dead`."""
        with self._lock:
            state = self._live()
            if isinstance(state, Frozen) and site not in state.parties:
                raise _too_late()

    def submit(self, site: str, share: Share) -> None:
        """Hold `site`'s share; repeating the same bytes is accepted.

        Raises:
            OstrakaError: `ticket.invalid` if the site is not scheduled, `batch.altered` for different bytes,
                `batch.frozen` if the party set is frozen without this site, `batch.dead`.
        """
        self.check_scheduled(site)
        with self._lock:
            state = self._live()
            kept = state.shares.get(site)
            if kept is not None:
                if not kept.same(share):
                    raise OstrakaError(
                        ErrorCode.BATCH_ALTERED,
                        "This batch already holds another share of yours; a retry must send the same bytes.",
                    )
            elif isinstance(state, Frozen):
                raise _too_late()
            else:
                state.shares[site] = share

    def require_verified(self) -> VerifiedBallots:
        """Return the ballots to verify; raise `batch.out_of_order` if its plan has none."""
        if self.verified is None:
            raise OstrakaError(
                ErrorCode.BATCH_OUT_OF_ORDER,
                "Ballots of this session are not verified; send SubmitBallots and Prepare alone.",
            )
        return self.verified

    def submit_ballots(self, site: str, submission: Submission) -> bytes:
        """Hold the ballots that `site` must prove, and return its challenge.

        Raises as `VerifiedBallots.submit`, and `batch.dead`.
        """
        ballots = self.require_verified()
        with self._lock:
            self._live()
            return ballots.submit(site, submission)

    def prove(self, site: str, proof: bytes) -> None:
        """Hold `site`'s answer to its challenge; raises as `VerifiedBallots.prove`, and `batch.dead`."""
        ballots = self.require_verified()
        with self._lock:
            self._live()
            ballots.prove(site, proof)

    def verify(
        self,
        verification: Verification,
        *,
        note: Callable[[Sequence[str]], object],
        attest: Callable[[Mapping[str, RefusedBallot]], object],
    ) -> frozenset[str]:
        """Verify the received ballots, and return the refused sites.

        Args:
            verification: the querying party's part of the proofs.
            note: names sites with refused ballots in the audit log; called once for each.
            attest: asks parties what their seeds imply; called again for a retry.

        Raises:
            OstrakaError: as `VerifiedBallots.verify` and `note`, and `batch.dead`.
        """
        ballots = self.require_verified()
        with self._lock:
            state = self._live()
            accepted, refused = ballots.verify(verification)
            if isinstance(state, Frozen):
                attest(ballots.attestable)
                return state.refused
            state.refused = frozenset(refused)
            # Shares count only after the log names the refused sites: a retry repeats a failed write.
            self._note(state, note)
            attest(ballots.attestable)
            state.shares = {site: Share.of(values) for site, values in accepted.items()}
            return state.refused

    def freeze(
        self,
        held: Collection[str],
        row_sums: RowSums,
        *,
        due: bool,
        note: Callable[[Sequence[str]], object] = lambda _: None,
        bury: Callable[[], object] = lambda: None,
    ) -> Frozen | None:
        """Freeze the parties whose shares both sides hold, or return None while others may still come.

        If the plan says so, parties whose two shares do not sum to their votes are refused first.

        Args:
            held: sites whose shares the querying party holds.
            row_sums: digests of the row sums of those shares.
            due: whether the ticket's freeze time has come.
            note: as for `verify`.
            bury: makes the batch dead in the ledger.

        Raises:
            OstrakaError: `quorum.lost` if the time has come and some query, or some label with any vote, has
                votes of fewer parties than the quorum: the batch is then dead. `batch.out_of_order` before
                ballots are verified; after that nothing more can come, and the time counts as come.
                `batch.dead`.
        """
        with self._lock:
            state = self._live()
            if isinstance(state, Frozen):
                return state
            if self.plan.checks_row_sums:
                self._check_rows(state, row_sums)
            self._note(state, note)
            parties = self._whole_set(state, held, due=due)
            if parties is None:
                return None
            fewest = self.attendance.of(parties).fewest_parties()
            if fewest < self.plan.quorum:
                bury()
                self.state = Dead()
                raise _quorum_lost(fewest, self.plan.quorum)
            frozen = Frozen(parties, _keep_values(state.shares, among=parties), state.refused)
            self.state = frozen
            return frozen

    def release(
        self,
        request: Share,
        *,
        draw: Callable[[RingArray, Attendance], Outcome],
        commit: Callable[[Outcome], bytes],
    ) -> bytes:
        """Return the answers to the querying party's one sum; repeating it returns the same answers.

        Args:
            request: the sum of its shares of the frozen parties.
            draw: makes the outcome from the sum of all shares and the attendance of the frozen parties. It is
                called once; if it fails, again for the same sum.
            commit: stores an outcome, hands its costs on, and returns the stored answers. It is called for
                every retry, and returns what it stored first.

        Raises:
            OstrakaError: `batch.not_frozen`, `batch.dead`, `batch.altered` for a sum other than the first.
        """
        with self._lock:
            summed = self._sum(request)
            if isinstance(summed, Drawn):
                drawn = summed
            else:
                total = self.plan.modulus.sum([request.values, *summed.halves])
                outcome = draw(total, self.attendance.of(summed.parties))
                digests = _keep_values(summed.shares, among=frozenset())
                drawn = Drawn(summed.parties, digests, summed.refused, request.drop_values(), outcome)
            # Kept before it is stored: the ledger may have stored it although its reply was lost.
            self.state = drawn
            answers = commit(drawn.outcome)
            self.state = Released(**vars(replace(drawn, outcome=replace(drawn.outcome, costs=None))))
            return answers

    @contextmanager
    def tallying(self) -> Iterator[Tallied]:
        """Hold the batch for a step of its blind tally; forged transfers or labels make it dead.

        Raises:
            OstrakaError: `batch.not_frozen`, `batch.dead`.
        """
        with self._lock:
            try:
                yield self._tally()
            except OstrakaError as error:
                # Another try would reveal a little of the guardian's words.
                if error.code is ErrorCode.CRYPTO_REFUSED:
                    self.state = Dead()
                raise

    def note_blind_release(self) -> None:
        """Record, within `tallying`, that the answers of the blind tally are charged."""
        self.state = ReleasedBlindly(**vars(self._tally()))

    def settle(self, settle: Callable[[], bytes | None]) -> bytes | None:
        """Return what `settle` finds stored for the batch in the ledger, or None: it is dead from now on."""
        with self._lock:
            answers = settle()
            if answers is None:
                self.state = Dead()
            return answers

    def expire(self, now: float, bury: Callable[[], object]) -> None:
        """Bury the batch if its time is over at `now`, unless it is in use: nobody waits for it."""
        if self._lock.acquire(blocking=False):
            try:
                if self.dies_at < now:
                    bury()
                    self.state = Dead()
            finally:
                self._lock.release()

    def _live(self) -> Collecting | Frozen:
        if isinstance(self.state, Dead):
            raise not_open()
        return self.state

    def _require_frozen(self) -> Frozen:
        state = self._live()
        if isinstance(state, Collecting):
            raise OstrakaError(
                ErrorCode.BATCH_NOT_FROZEN, "The party set is not frozen yet; send Prepare before this."
            )
        return state

    def _sum(self, request: Share) -> Summed:
        state = self._require_frozen()
        if not isinstance(state, Summed):
            summed = Summed(state.parties, state.shares, state.refused, request)
            self.state = summed
            return summed
        if not state.request.same(request):
            raise OstrakaError(
                ErrorCode.BATCH_ALTERED,
                "Another sum was sent for this batch before; a retry must send the same.",
            )
        return state

    def _tally(self) -> Tallied:
        state = self._require_frozen()
        if isinstance(state, Tallied):
            return state
        tally = BlindTally(
            plan=self.plan,
            session_id=self.ticket.session_id,
            batch_id=self.ticket.batch_id,
            sums=self.plan.modulus.sum(state.halves),
            totals=self.attendance.of(state.parties).totals(),
            noise=self.noise,
        )
        tallied = Tallied(state.parties, state.shares, state.refused, tally)
        self.state = tallied
        return tallied

    def _whole_set(self, state: Collecting, held: Collection[str], *, due: bool) -> frozenset[str] | None:
        """Return the parties whose shares both sides hold, or None while others may still come."""
        if self.verified is not None and not self.verified.verified:
            raise OstrakaError(
                ErrorCode.BATCH_OUT_OF_ORDER,
                "The ballots of this batch are yet to be verified; send VerifyBallots before this.",
            )
        both = (frozenset(state.shares) & frozenset(held)) - state.refused
        nothing_to_come = due or self.verified is not None
        if both != self.scheduled - state.refused and not nothing_to_come:
            return None
        return both

    def _check_rows(self, state: Collecting, row_sums: RowSums) -> None:
        """Refuse parties whose two shares do not sum, on each query, to their votes; check each once."""
        now = frozenset(row_sums.digests).intersection(state.shares) - state.rows_checked
        state.rows_checked |= now
        state.refused |= {site for site in now if not self._has_rows(site, state.shares[site], row_sums)}

    def _has_rows(self, site: str, share: Share, row_sums: RowSums) -> bool:
        return row_sums.match(site, share.values, self.attendance.totals_of(site), self.plan.modulus)

    @staticmethod
    def _note(state: Collecting, note: Callable[[Sequence[str]], object]) -> None:
        if newly := state.refused - state.noted:
            note(sorted(newly))
            state.noted = state.refused


def _too_late() -> OstrakaError:
    return OstrakaError(
        ErrorCode.BATCH_FROZEN, "The party set of this batch is frozen; what you send came too late."
    )


def _quorum_lost(fewest: int, quorum: int) -> OstrakaError:
    return OstrakaError(
        ErrorCode.QUORUM_LOST,
        f"A query or label has votes of only {fewest} of the {quorum} parties that the quorum requires; "
        "ask again when more parties serve.",
    )
