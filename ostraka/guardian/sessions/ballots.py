"""What a guardian accepts before a batch is frozen: evaluations, shares, proofs and their verification."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial

from ostraka.common.clock import Clock
from ostraka.common.identity import Identity
from ostraka.common.verified.layout import Layout
from ostraka.common.verified.verifier import Submission
from ostraka.guardian.ledger import Ledger
from ostraka.guardian.ledger.sessions import evaluations, refused_ballots
from ostraka.guardian.ledger.units import balances
from ostraka.guardian.sessions.attestations import Attestations
from ostraka.guardian.sessions.batch import Share
from ostraka.guardian.sessions.payers import payers, reservation
from ostraka.guardian.sessions.refusals import not_encrypted
from ostraka.guardian.sessions.registry import OpenBatches, TicketedBatch, load_session, recall_batch
from ostraka.guardian.sessions.verified_ballots import Verification
from ostraka.protos.ostraka.v1 import common_pb2


class Ballots:
    """Accepts the ballots of open batches from the parties that a ticket schedules."""

    def __init__(
        self, ledger: Ledger, batches: OpenBatches, attestations: Attestations, clock: Clock
    ) -> None:
        """Take the ledger, this process's open batches, and the attestations of refused ballots."""
        self._ledger = ledger
        self._batches = batches
        self._attestations = attestations
        self._clock = clock

    def record_evaluation(self, party: Identity, session_id: str, batch_id: int) -> None:
        """Record that `party` answers a batch's encrypted queries; from now on their cost to it is due.

        Raises:
            OstrakaError: `ticket.invalid` if the party is not scheduled, `batch.dead`, `batch.frozen` if the
                party set is frozen without it, `session.*`, `grant.expired`, and as `evaluations.record`.
        """
        session = load_session(self._ledger, session_id)
        session.check_open(self._clock.now())
        if session.plan.encoding != "ckks":
            raise not_encrypted()
        batch = self._batches.require(session_id, batch_id)
        batch.check_scheduled(party.site)
        batch.check_awaited(party.site)
        own = batch.attendance.of([party.site])
        paying = payers(session.plan, own, self._ledger.read(balances.find_budgets, batch.units))
        worst = {payer.budget.key: reservation(session.plan, payer) for payer in paying}
        with self._batches.forgetting(session_id, batch_id):
            self._ledger.write_session(session_id, evaluations.record, batch_id, party.site, worst)

    def batch_to_submit(self, party: Identity, session_id: str, batch_id: int) -> TicketedBatch:
        """Return the batch for which `party` may send a share, before a byte of it is read.

        Raises:
            OstrakaError: `ticket.invalid` if the batch has no ticket or the party is not scheduled,
                `batch.dead`, `session.*`.
        """
        session, stored = recall_batch(self._ledger, session_id, batch_id)
        ticketed = TicketedBatch.of(session, batch_id, stored)
        self._batches.require(*ticketed.key).check_scheduled(party.site)
        return ticketed

    def submit(self, party: Identity, ticketed: TicketedBatch, share: Share) -> None:
        """Hold one party's share of a batch until its release; see `Batch.submit` for refusals."""
        self._batches.require(*ticketed.key).submit(party.site, share)

    def submit_verified(
        self, party: Identity, ticketed: TicketedBatch, submission: Callable[[Sequence[Layout]], Submission]
    ) -> bytes:
        """Hold the ballots that one party must prove, and return its challenge.

        `submission` reads them by their layouts. Raises as `VerifiedBallots.submit`.
        """
        batch = self._batches.require(*ticketed.key)
        layouts = batch.require_verified().layouts(party.site)
        return batch.submit_ballots(party.site, submission(layouts))

    def submit_proof(
        self, party: Identity, ticketed: TicketedBatch, proof: Callable[[Sequence[Layout]], bytes]
    ) -> None:
        """Hold one party's answer to its challenge; raises as `VerifiedBallots.prove`."""
        batch = self._batches.require(*ticketed.key)
        layouts = batch.require_verified().layouts(party.site)
        batch.prove(party.site, proof(layouts))

    def verify(
        self, ticketed: TicketedBatch, verification: Callable[[Mapping[str, int]], Verification]
    ) -> frozenset[str]:
        """Verify the received ballots, and return the refused parties; the audit log names them first.

        When these parties register next, they are asked what their seeds imply. `verification` reads its
        message by the bytes of each party's verifier share.

        Raises:
            OstrakaError: `batch.altered` if the verification differs from the first, `batch.dead`;
                `message.invalid` or `identity.*` for an evaluation that its querying party did not sign.
        """
        batch = self._batches.require(*ticketed.key)
        sent = verification(batch.require_verified().message_sizes())
        if sent.evaluation is not None:
            session_id, batch_id = ticketed.key
            expected = common_pb2.Evaluation(
                session_id=session_id, batch_id=batch_id, point_seed=sent.point_seed
            )
            evaluation = self._attestations.evaluation(sent.evaluation, ticketed.session.querier, expected)
            sent = replace(sent, evaluation=evaluation)
        return batch.verify(
            sent,
            note=partial(self.note_refused, *ticketed.key),
            attest=partial(self._attestations.ask, ticketed.key, batch.ends_at),
        )

    def note_refused(self, session_id: str, batch_id: int, sites: Sequence[str]) -> None:
        """Name the parties of refused ballots in the audit log."""
        self._ledger.write_session(session_id, refused_ballots.record, batch_id, sites)
