"""The guardian's side of a session: open, ticket, ballots, freeze, release, settle, close.

Order of a release (DESIGN section 2): shares are summed with the querying party's sum, noise is added,
answers and charges become durable in one transaction, and only then are the answers returned.
"""

import secrets
from collections.abc import Sequence

from common.clock import Clock
from common.errors import ErrorCode, OstrakaError
from common.identity import Credentials, Identity
from common.plan import Plan, digest
from common.sharing.ring import RingArray
from guardian.ledger import Budget, Ledger, UnitKey
from guardian.noise import NoiseSource
from guardian.policy import Policy
from guardian.sessions.admission import (
    check_enforcement,
    check_policy,
    check_unchanged,
    participants,
    units,
)
from guardian.sessions.batch import Batch, Share
from guardian.sessions.outcome import tally, worst_amount
from guardian.sessions.registry import OpenBatches, Session, load_session
from guardian.sessions.tickets import sign_grant, sign_ticket
from protos.ostraka.v1 import common_pb2, guardian_pb2

POLL_MS = 200


class Coordinator:
    """Runs every session of one guardian process; all durable state is in the ledger."""

    def __init__(
        self, ledger: Ledger, credentials: Credentials, policy: Policy, clock: Clock, noise: NoiseSource
    ) -> None:
        """Take what the guardian needs; nothing is read before the first call."""
        self._ledger = ledger
        self._credentials = credentials
        self._policy = policy
        self._clock = clock
        self._noise = noise
        self._batches = OpenBatches()

    def open_session(self, querier: Identity, plan_bytes: bytes) -> common_pb2.Signed:
        """The signed grant for a plan; the same bytes from the same party give the same grant.

        Raises:
            OstrakaError: `plan.invalid`, `policy.refused`, `party.unknown`, `task.mismatch`,
                `plan.ring_too_small`, `budget.missing`.
        """
        plan = Plan.parse(plan_bytes)
        before = self._ledger.find_session(querier.uri, digest(plan_bytes))
        if before is not None:
            return common_pb2.Signed.FromString(before.grant)
        check_policy(plan, self._policy)
        chosen = participants(plan, self._ledger.manifests(plan.parties))
        check_enforcement(self._budgets(plan, plan.parties), self._policy)
        self._expire()
        session_id = secrets.token_hex(16)
        grant = sign_grant(
            self._credentials,
            self._policy,
            session_id=session_id,
            plan=plan,
            plan_digest=digest(plan_bytes),
            querier=querier,
            participants=chosen.values(),
            now=self._clock.now(),
        )
        record = self._ledger.open_session(
            session_id,
            querier.uri,
            plan_bytes,
            digest(plan_bytes),
            grant.SerializeToString(),
            queries=plan.queries,
        )
        return common_pb2.Signed.FromString(record.grant)

    def open_batch(
        self, querier: Identity, session_id: str, batch_id: int, size: int, unavailable: Sequence[str]
    ) -> common_pb2.Signed:
        """The signed ticket of a batch, its worst cost reserved under worst-case enforcement.

        Raises:
            OstrakaError: `session.*`, `grant.expired`, `batch.too_large`, `quorum.lost`,
                `budget.too_small` (whose detail `fits` is the number of queries that would fit).
        """
        session = self._session(querier, session_id)
        session.check_open(self._clock.now())
        self._expire()
        current = participants(session.plan, self._ledger.manifests(session.plan.parties))
        check_unchanged(session.grant.participants, current)
        if not 0 < size <= session.plan.batch_size:
            raise OstrakaError(
                ErrorCode.BATCH_TOO_LARGE,
                f"A batch of {size} queries was asked for; the plan allows 1 to {session.plan.batch_size}.",
            )
        scheduled = [p for p in session.grant.participants if p.site not in set(unavailable)]
        if len(scheduled) < session.plan.quorum:
            raise OstrakaError(
                ErrorCode.QUORUM_LOST,
                f"{len(scheduled)} parties are available and the quorum is {session.plan.quorum};"
                " ask again when more are up.",
            )
        ticket = sign_ticket(
            self._credentials,
            session_id=session_id,
            batch_id=batch_id,
            size=size,
            participants=scheduled,
            freeze_at=self._clock.now() + self._policy.freeze_after_s,
        )
        sensitivity = {p.site: p.max_votes_per_person for p in scheduled}
        held = {
            b.key: worst_amount(session.plan.mechanism, b, sensitivity[b.key.party], size, size)
            for b in self._budgets(session.plan, list(sensitivity))
        }
        stored = self._ledger.open_batch(session_id, batch_id, size, ticket.SerializeToString(), held)
        signed = common_pb2.Signed.FromString(stored)
        self._keep(session, batch_id, common_pb2.Ticket.FromString(signed.payload), tuple(held))
        return signed

    def submit(self, party: Identity, session_id: str, batch_id: int, values: RingArray) -> None:
        """Keep one party's share of a batch until release; see `Batch.submit` for refusals."""
        batch = self._batch(session_id, batch_id)
        with batch.lock:
            batch.submit(party.site, Share.of(values))

    def shape(self, session_id: str, batch_id: int) -> tuple[Plan, int]:
        """The plan and size that a share or sum for this batch must match."""
        session = load_session(self._ledger, session_id)
        batch = self._ledger.batch(session_id, batch_id)
        if batch is None:
            raise OstrakaError(
                ErrorCode.TICKET_INVALID, f"Batch {batch_id} has no ticket; ask for one with OpenBatch."
            )
        return session.plan, batch.size

    def prepare(
        self, querier: Identity, session_id: str, batch_id: int, held: Sequence[str]
    ) -> guardian_pb2.PrepareReply:
        """Freeze the party set, or say when to ask again.

        Raises:
            OstrakaError: `quorum.lost`; the batch is then dead and its reservation void.
        """
        session = self._session(querier, session_id)
        batch = self._batch(session_id, batch_id)
        due = self._clock.now() * 1000 >= batch.ticket.freeze_unix_ms
        with batch.lock:
            try:
                frozen = batch.freeze(held, session.plan.quorum, due=due)
            except OstrakaError:
                self._ledger.settle(session_id, batch_id)
                self._batches.drop(session_id, batch_id)
                raise
        if frozen is None:
            return guardian_pb2.PrepareReply(retry_after_ms=POLL_MS)
        return guardian_pb2.PrepareReply(frozen=sorted(frozen))

    def release(self, querier: Identity, session_id: str, batch_id: int, values: RingArray) -> bytes:
        """The serialized answers of a batch: noised, charged and stored before they are returned.

        The same sum again gets the stored bytes, uncharged.

        Raises:
            OstrakaError: `batch.altered`, `batch.dead`, `batch.not_frozen`, `session.ended`.
        """
        session = self._session(querier, session_id)
        request = Share.of(values)
        batch = self._batches.get(session_id, batch_id)
        stored = self._ledger.answers(session_id, batch_id, request.sha256)
        if stored is not None:
            return stored
        session.check_open(self._clock.now())
        if batch is None:
            raise _not_open()
        try:
            answers = self._release(session, batch, request)
        except OstrakaError as exc:
            if exc.code is ErrorCode.SESSION_ENDED:
                self._batches.drop_session(session_id)
            raise
        self._batches.drop(session_id, batch_id)
        return answers

    def _release(self, session: Session, batch: Batch, request: Share) -> bytes:
        with batch.lock:
            total = batch.total(request)
            if batch.outcome is None:
                frozen = {site: batch.scheduled[site] for site in sorted(batch.frozen or ())}
                charged = [key for key in batch.units if key.party in frozen]
                batch.outcome = tally(
                    session.plan,
                    total,
                    self._ledger.budgets_of(charged),
                    frozen,
                    self._noise,
                    self._policy.bound,
                )
            return self._ledger.release(
                session.session_id,
                batch.ticket.batch_id,
                request.sha256,
                batch.outcome.answers,
                batch.outcome.charges,
                answered=batch.outcome.answered,
            )

    def settle(self, querier: Identity, session_id: str, batch_id: int) -> bytes | None:
        """The stored answers of a batch, or None; an unreleased batch is dead from now on."""
        self._session(querier, session_id)
        batch = self._batches.get(session_id, batch_id)
        if batch is None:
            return self._ledger.settle(session_id, batch_id)
        with batch.lock:
            answers = self._ledger.settle(session_id, batch_id)
        self._batches.drop(session_id, batch_id)
        return answers

    def close_session(self, querier: Identity, session_id: str) -> None:
        """Close a session; its open batches are dead."""
        self._session(querier, session_id)
        self._ledger.close_session(session_id)
        self._batches.drop_session(session_id)

    def _session(self, querier: Identity, session_id: str) -> Session:
        session = load_session(self._ledger, session_id)
        session.check_querier(querier)
        return session

    def _batch(self, session_id: str, batch_id: int) -> Batch:
        batch = self._batches.get(session_id, batch_id)
        if batch is None:
            raise _not_open()
        return batch

    def _keep(
        self, session: Session, batch_id: int, ticket: common_pb2.Ticket, held: tuple[UnitKey, ...]
    ) -> None:
        stored = self._ledger.batch(session.session_id, batch_id)
        if stored is not None and stored.state == "ticketed":
            batch = Batch(ticket, units=held, ends_at=session.ends_at)
            self._batches.add(session.session_id, batch_id, batch)

    def _expire(self) -> None:
        """Give back what batches hold whose grant ran out before they were released."""
        for session_id, batch_id in self._batches.ended(self._clock.now()):
            self._ledger.settle(session_id, batch_id)
            self._batches.drop(session_id, batch_id)

    def _budgets(self, plan: Plan, sites: Sequence[str]) -> list[Budget]:
        """What a release by `sites` is charged to; a record's charge debits its label budget too."""
        stored = self._ledger.manifests(plan.parties)
        labels = set(units(stored, sites, "label"))
        records = self._ledger.budgets_of(units(stored, sites, plan.adjacency))
        return records + [b for b in self._ledger.budgets() if b.key in labels]


def _not_open() -> OstrakaError:
    return OstrakaError(
        ErrorCode.BATCH_DEAD,
        "This batch is not open (unknown, settled, or from before a restart of the guardian);"
        " settle it and ask its queries again under a new batch id.",
    )
