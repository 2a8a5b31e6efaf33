"""The guardian's side of a session: open, ticket, ballots, freeze, release, settle, close.

Order of a release (docs/architecture.md#a-batch-at-the-guardian): shares are added to the querying party's
sum, noise drawn since the ticket is added, and answers and charges become durable in one transaction; only
then are the answers returned. If a session asks for data-dependent costs, `figures` computes them.
"""

import secrets
from collections.abc import Sequence
from functools import partial
from typing import Protocol

from ostraka.common.clock import Clock
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.identity import Credentials, Identity
from ostraka.common.plan.plan import Plan, digest
from ostraka.common.plan.signed_lists import read_grant
from ostraka.common.sharing.ring import RingArray
from ostraka.common.sharing.shares import RowSums
from ostraka.guardian.ledger import Charge, Ledger, StoredSession
from ostraka.guardian.ledger.sessions import batches, endings, releases, session_opening
from ostraka.guardian.ledger.store import kept_answers
from ostraka.guardian.ledger.units import balances
from ostraka.guardian.noise import NoisePrefetcher
from ostraka.guardian.policy import Policies, Policy
from ostraka.guardian.sessions.admission import Admitted, admit
from ostraka.guardian.sessions.attestations import Attestations
from ostraka.guardian.sessions.ballots import Ballots
from ostraka.guardian.sessions.batch import Batch, Share
from ostraka.guardian.sessions.batch_opening import Asked, Opened, Opening
from ostraka.guardian.sessions.blind import BlindTallies
from ostraka.guardian.sessions.cohorts import Attendance
from ostraka.guardian.sessions.data_dependent import DataDependentCosts
from ostraka.guardian.sessions.outcome import Outcome, tally
from ostraka.guardian.sessions.payers import payers
from ostraka.guardian.sessions.planning import plan_reply, unit_terms
from ostraka.guardian.sessions.policy_checks import check_still_allowed
from ostraka.guardian.sessions.refusals import not_open, nothing_released, takes_no_sum
from ostraka.guardian.sessions.registry import (
    OpenBatches,
    Session,
    TicketedBatch,
    load_batch_of,
    load_session_of,
)
from ostraka.guardian.sessions.tickets import reissue_grant, sign_grant
from ostraka.guardian.sessions.trainings import check_caller
from ostraka.guardian.sessions.verified_ballots import VerifiedBallots
from ostraka.protos.ostraka.v1 import common_pb2, guardian_pb2

POLL_MS = 200
"""After how long a querying party asks again whether the set is frozen: a batch waits at most that much
longer, for five calls a second."""


class Watch(Protocol):
    """Is called once for every opened session and batch."""

    def session_opened(self, plan: Plan) -> None:
        """Record that a session got its grant."""

    def batch_opened(self, plan: Plan, queries: int) -> None:
        """Record that a batch got its ticket."""


class FigureQueue(Protocol):
    """Computes the data-dependent costs of released batches, after their answers."""

    def add(
        self, session_id: str, batch_id: int, charges: Sequence[Charge], costs: DataDependentCosts
    ) -> None:
        """Take a batch that is released and charged; return at once."""


class Coordinator:
    """Runs every session of one guardian process; all durable state is in the ledger.

    Attributes:
        ballots: the parties' messages before a release, and the querying party's verification.
        attestations: the parties' attestations of refused ballots.
        blind: replaces `release` if the tally is blind.
    """

    def __init__(
        self,
        ledger: Ledger,
        credentials: Credentials,
        policies: Policies,
        clock: Clock,
        noise: NoisePrefetcher,
        figures: FigureQueue,
        watch: Watch | None = None,
    ) -> None:
        """Take the guardian's parts; nothing is read before the first call."""
        self._watch = watch
        self._ledger = ledger
        self._credentials = credentials
        self._policies = policies
        self._clock = clock
        self._opening = Opening(ledger, credentials, policies, clock)
        self._noise = noise
        self._figures = figures
        self._batches = OpenBatches()
        self.attestations = Attestations(ledger, credentials, clock)
        self.ballots = Ballots(ledger, self._batches, self.attestations, clock)
        self.blind = BlindTallies(ledger, self._batches, clock)

    @property
    def under_way(self) -> int:
        """Number of batches whose shares this process holds."""
        return self._batches.under_way

    def open_session(self, querier: Identity, plan_bytes: bytes) -> common_pb2.SignedList:
        """Return the signed grant for a plan; the same bytes from the same site give the same grant.

        Raises:
            OstrakaError: `plan.invalid`, `identity.wrong_role`, `policy.refused`, `policy.open_limit`,
                `party.*`, `task.mismatch`, `quorum.lost`, `plan.ring_too_small`, `budget.missing`.
        """
        plan = Plan.parse(plan_bytes)
        check_caller(plan, querier)
        before = session_opening.find_session(self._ledger, querier.uri, digest(plan_bytes))
        if before is not None:
            return reissue_grant(self._credentials, before.grant)
        policy = self._policies.current()
        admitted = self._admit(policy, plan, plan_bytes)
        self.expire()
        session_id = secrets.token_hex(16)
        grant = sign_grant(
            self._credentials,
            policy,
            session_id=session_id,
            plan=plan,
            plan_digest=digest(plan_bytes),
            querier=querier,
            participants=admitted.participants.values(),
            now=self._clock.now(),
        )
        record = session_opening.open_session(
            self._ledger,
            StoredSession(
                session_id,
                querier.uri,
                plan_bytes,
                digest(plan_bytes),
                grant.SerializeToString(),
                queries=plan.queries,
            ),
            most_open=policy.max_open_sessions,
            within_s=policy.grant_ttl_s + policy.allowed_skew_s,
        )
        if self._watch and record.session_id == session_id:
            self._watch.session_opened(plan)
        return reissue_grant(self._credentials, record.grant)

    def terms(self, plan_bytes: bytes, grant: common_pb2.SignedList) -> list[guardian_pb2.UnitTerms]:
        """Return the order and delta of the budgets that a granted plan charges."""
        granted = read_grant(grant.SerializeToString())
        return self._ledger.read(unit_terms, Plan.parse(plan_bytes), granted.participants)

    def plan(self, querier: Identity, plan_bytes: bytes) -> guardian_pb2.PlanReply:
        """Return a plan's worst-case cost to each party; refused as by `open_session`.

        A party learns no balance but its own.
        """
        plan = Plan.parse(plan_bytes)
        policy = self._policies.current()
        check_caller(plan, querier)
        return plan_reply(plan, self._admit(policy, plan, plan_bytes), policy, querier)

    def _admit(self, policy: Policy, plan: Plan, plan_bytes: bytes) -> Admitted:
        return admit(self._ledger, policy, plan, digest(plan_bytes), self._credentials.revocations)

    def open_batch(
        self, querier: Identity, session_id: str, batch_id: int, size: int, unavailable: Sequence[str]
    ) -> common_pb2.SignedList:
        """Return the signed ticket of a batch, its worst cost reserved under worst-case enforcement.

        Raises:
            OstrakaError: `session.*`, `grant.expired`, and as `Opening.open`.
        """
        session, stored = load_batch_of(self._ledger, querier, session_id, batch_id)
        session.check_open(self._clock.now())
        self.expire()
        kept = self._batches.get(session_id, batch_id)
        if kept is not None and stored is not None and stored.state != "dead" and stored.size == size:
            return common_pb2.SignedList.FromString(stored.ticket)
        opened = self._opening.open(Asked(session, batch_id, size, unavailable))
        self._keep(session, batch_id, opened)
        return opened.signed

    def batch_to_verify(self, querier: Identity, session_id: str, batch_id: int) -> TicketedBatch:
        """Return the batch whose ballots `querier` may verify, before a byte of the verification is read.

        Raises:
            OstrakaError: `session.*`, `ticket.invalid` if the batch has no ticket.
        """
        session, stored = load_batch_of(self._ledger, querier, session_id, batch_id)
        return TicketedBatch.of(session, batch_id, stored)

    def batch_to_release(self, querier: Identity, session_id: str, batch_id: int) -> TicketedBatch:
        """Return the batch for which `querier` may send a sum, before a byte of it is read.

        Raises:
            OstrakaError: as `batch_to_verify`, and `batch.out_of_order` if the tally is blind.
        """
        ticketed = self.batch_to_verify(querier, session_id, batch_id)
        if ticketed.plan.tally == "blind":
            raise takes_no_sum()
        return ticketed

    def prepare(
        self, querier: Identity, session_id: str, batch_id: int, held: Sequence[str], row_sums: RowSums
    ) -> guardian_pb2.PrepareReply:
        """Freeze the party set, or say when to ask again; the audit log names refused parties first.

        Raises:
            OstrakaError: `quorum.lost`: the batch is then dead, and its reservation void except for parties
                that evaluated it. `batch.out_of_order` before ballots are verified.
        """
        self._session(querier, session_id)
        self.expire()
        batch = self._batches.require(session_id, batch_id)
        due = self._clock.now() * 1000 >= batch.ticket.freeze_unix_ms
        frozen = batch.freeze(
            held,
            row_sums,
            due=due,
            note=partial(self.ballots.note_refused, session_id, batch_id),
            bury=partial(self._bury, session_id, batch_id),
        )
        if frozen is None:
            return guardian_pb2.PrepareReply(retry_after_ms=POLL_MS)
        return guardian_pb2.PrepareReply(frozen=sorted(frozen.parties), refused=sorted(frozen.refused))

    def release(self, ticketed: TicketedBatch, request: Share) -> bytes:
        """Return the serialized answers of a batch: with noise, charged and stored before they are returned.

        Repeating the sum returns the stored bytes without a charge.

        Raises:
            OstrakaError: `batch.altered`, `batch.dead`, `batch.not_frozen`, `session.ended`, `policy.refused`
                for a round of a training that the policy has forbidden since its ticket.
        """
        batch = self._batches.get(*ticketed.key)
        if ticketed.released or batch is None:
            return self._find_released(ticketed, request)
        ticketed.session.check_open(self._clock.now())
        policy = self._policies.current()
        if ticketed.plan.releases_sums:
            self._check_still_allowed(ticketed, policy)
        with self._batches.forgetting(*ticketed.key):
            answers = self._release(ticketed.session, batch, request, policy)
        self._batches.drop(*ticketed.key)
        return answers

    def _find_released(self, ticketed: TicketedBatch, request: Share) -> bytes:
        """Return the stored answers of a batch whose shares are gone here, or raise `batch.dead`."""
        session_id, batch_id = ticketed.key
        stored = self._ledger.read_session(session_id, batches.answers, batch_id, request.sha256)
        if stored is None:
            ticketed.session.check_open(self._clock.now())
            raise not_open()
        return stored

    def _check_still_allowed(self, ticketed: TicketedBatch, policy: Policy) -> None:
        """Raise for a round that a policy applied after its ticket forbids; the round is then dead."""
        try:
            check_still_allowed(ticketed.plan, ticketed.session.grant, policy)
        except OstrakaError:
            self._settle(*ticketed.key)
            raise

    def _release(self, session: Session, batch: Batch, request: Share, policy: Policy) -> bytes:
        session_id = session.session_id
        batch_id = batch.ticket.batch_id

        def draw(total: RingArray, attendance: Attendance) -> Outcome:
            charged = payers(session.plan, attendance, self._ledger.read(balances.find_budgets, batch.units))
            return tally(session.plan, total, request.scores, charged, attendance, batch.noise, session.bound)

        def commit(outcome: Outcome) -> bytes:
            answers = self._ledger.write_session(
                session_id,
                releases.release,
                batch_id,
                request.sha256,
                outcome.answers,
                outcome.charges,
                answered=outcome.answered,
                vanish=policy.on_exhaustion == "vanish",
            )
            if outcome.costs is not None:
                self._figures.add(session_id, batch_id, outcome.charges, outcome.costs)
            return answers

        return batch.release(request, draw=draw, commit=commit)

    def settle(self, querier: Identity, session_id: str, batch_id: int) -> bytes | None:
        """Return the stored answers of a batch, or None; an unreleased batch is dead from now on."""
        self._session(querier, session_id)
        return self._settle(session_id, batch_id)

    def _settle(self, session_id: str, batch_id: int) -> bytes | None:
        def settle() -> bytes | None:
            return self._ledger.write_session(session_id, endings.settle, batch_id)

        batch = self._batches.get(session_id, batch_id)
        if batch is None:
            return settle()
        answers = batch.settle(settle)
        self._batches.drop(session_id, batch_id)
        return answers

    def released_update(self, lead: Identity, session_id: str, batch_id: int) -> bytes:
        """Return the sum that a round of a training released, little-endian int64 in lattice steps.

        Raises:
            OstrakaError: `session.unknown`, `batch.out_of_order` if none was released, `batch.forgotten` if
                it was dropped.
        """
        _, stored = load_batch_of(self._ledger, lead, session_id, batch_id)
        if stored is None or stored.answers is None:
            raise nothing_released()
        answers = kept_answers.require(stored.answers, batch_id)
        return guardian_pb2.ReleaseReply.FromString(answers).update.data

    def close_session(self, querier: Identity, session_id: str) -> None:
        """Close a session; its open batches are dead."""
        self._session(querier, session_id)
        self._ledger.write_session(session_id, endings.close)
        self._batches.drop_session(session_id)

    def _session(self, querier: Identity, session_id: str) -> Session:
        return load_session_of(self._ledger, querier, session_id)

    def _keep(self, session: Session, batch_id: int, opened: Opened) -> None:
        stored = self._ledger.read_session(session.session_id, batches.find_batch, batch_id)
        if stored is not None and stored.state == "ticketed":
            rows = opened.attendance.present.shape[1]
            noise = self._noise.prepare(session.plan.mechanism.draws(rows, session.plan.classes))
            life_s = self._policies.current().ticket_life_s(session.plan)
            release_by = min(opened.ticket.expires_unix_ms / 1000 + life_s, session.ends_at)
            batch = Batch(
                session.plan,
                opened.ticket,
                opened.attendance,
                noise,
                opened.units,
                release_by,
                session.ends_at,
                _ballots_to_verify(session.plan, opened.ticket),
            )
            kept = self._batches.add(session.session_id, batch_id, batch)
            if self._watch and kept:
                self._watch.batch_opened(session.plan, stored.size)

    def expire(self) -> None:
        """End the batches that were not frozen, or not released, in time; skip batches in use."""
        now = self._clock.now()
        for session_id, batch_id, batch in self._batches.find_expired(now):
            batch.expire(now, partial(self._bury_expired, session_id, batch_id))

    def _bury(self, session_id: str, batch_id: int) -> None:
        self._ledger.write_session(session_id, endings.settle, batch_id)
        self._batches.drop(session_id, batch_id)

    def _bury_expired(self, session_id: str, batch_id: int) -> None:
        try:
            self._bury(session_id, batch_id)
        except OstrakaError as exc:
            # Another replica took over the session, and the batch with it: it no longer concerns this call.
            if exc.code is not ErrorCode.SESSION_ELSEWHERE:
                raise
            self._batches.drop(session_id, batch_id)


def _ballots_to_verify(plan: Plan, ticket: common_pb2.Ticket) -> VerifiedBallots | None:
    return VerifiedBallots(plan, ticket, secrets.token_bytes) if plan.ballots == "verified" else None
