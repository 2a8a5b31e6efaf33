"""The guardian's gRPC service: validates each message, then calls the coordinator."""

from collections.abc import Callable, Iterable, Iterator, Mapping

import grpc
import numpy as np

from ostraka.common.identity import Role
from ostraka.common.rpc import peer_identity, split
from ostraka.common.rpc.calls import LatestCalls
from ostraka.common.rpc.shares import read_stream, read_whole
from ostraka.common.rpc.steps import StepId, read_header, read_request, reply_messages
from ostraka.guardian.ledger import Ledger
from ostraka.guardian.ledger.log import audit
from ostraka.guardian.members.member_standing import MemberStanding
from ostraka.guardian.members.registration import Registrar
from ostraka.guardian.serving.share_messages import (
    read_proof,
    read_row_sums,
    read_share,
    read_submission,
    read_verification,
)
from ostraka.guardian.sessions import Coordinator
from ostraka.protos.ostraka.v1 import common_pb2, guardian_pb2, guardian_pb2_grpc

ANSWERS_PER_MESSAGE = 100_000
"""An answer takes about ten bytes, and the limit of a gRPC message is 4 MiB."""
_SERVICE = "/ostraka.v1.Guardian/"
_PARTY = frozenset({Role.PARTY})
_QUERY = frozenset({Role.QUERY})
_ASKING = _QUERY | _PARTY
"""Roles that open sessions: querying parties, and parties that lead a training."""
ROLES: Mapping[str, frozenset[Role]] = {
    f"{_SERVICE}{method}": roles
    for methods, roles in (
        (("Register", "Reconcile", "RecordEvaluation"), _PARTY),
        (("SubmitBallots", "SubmitBallotsWhole", "SubmitProof", "SubmitProofWhole", "AttestBallots"), _PARTY),
        (("Plan", "OpenSession", "OpenBatch", "Prepare", "SettleBatch", "CloseSession"), _ASKING),
        (("Release", "ReleaseWhole", "ReleasedUpdate"), _ASKING),
        (("VerifyBallots", "VerifyBallotsWhole"), _QUERY),
        (("BeginTally", "GarbleTally", "CompareTally", "OpenCheck"), _QUERY),
        (("Standing",), _ASKING),
    )
    for method in methods
}


class GuardianService(guardian_pb2_grpc.GuardianServicer):
    """Serves querying and answering parties; roles are checked before a method runs."""

    def __init__(
        self,
        coordinator: Coordinator,
        registrar: Registrar,
        standing: MemberStanding,
        ledger: Ledger,
        registered: Callable[[str], object] = lambda party: None,
    ) -> None:
        """Take the session machinery and the ledger whose audit head every acknowledgement carries.

        `registered` is called with every party that registered.
        """
        self._registered = registered
        self._latest = LatestCalls()
        self._coordinator = coordinator
        self._registrar = registrar
        self._standing = standing
        self._ledger = ledger

    def Register(
        self, request: guardian_pb2.RegisterRequest, context: grpc.ServicerContext
    ) -> guardian_pb2.RegisterReply:
        """Store a party's signed manifest."""
        party = peer_identity(context)
        kept = self._registrar.register(party, request)
        self._registered(party.site)
        return guardian_pb2.RegisterReply(
            audit_head=kept.head,
            epoch=kept.epoch,
            reconcile=kept.reconcile,
            revocations=self._registrar.newer_revocations(request.revocations),
            refused=self._coordinator.attestations.pending(party),
        )

    def Reconcile(
        self, request_iterator: Iterator[guardian_pb2.ReconcileRequest], context: grpc.ServicerContext
    ) -> guardian_pb2.ReconcileReply:
        """Take a party's receipts after the ledger was restored."""
        return self._registrar.reconcile(peer_identity(context), request_iterator)

    def Plan(
        self, request: guardian_pb2.PlanRequest, context: grpc.ServicerContext
    ) -> guardian_pb2.PlanReply:
        """Return the cost of a plan."""
        return self._coordinator.plan(peer_identity(context), request.plan)

    def OpenSession(
        self, request: guardian_pb2.OpenSessionRequest, context: grpc.ServicerContext
    ) -> guardian_pb2.OpenSessionReply:
        """Grant a plan."""
        grant = self._coordinator.open_session(peer_identity(context), request.plan)
        return guardian_pb2.OpenSessionReply(grant=grant, units=self._coordinator.terms(request.plan, grant))

    def OpenBatch(
        self, request: guardian_pb2.OpenBatchRequest, context: grpc.ServicerContext
    ) -> guardian_pb2.OpenBatchReply:
        """Sign a batch's ticket."""
        ticket = self._coordinator.open_batch(
            peer_identity(context),
            request.session_id,
            request.batch_id,
            request.size,
            list(request.unavailable),
        )
        return guardian_pb2.OpenBatchReply(ticket=ticket)

    def RecordEvaluation(
        self, request: guardian_pb2.RecordEvaluationRequest, context: grpc.ServicerContext
    ) -> guardian_pb2.RecordEvaluationReply:
        """Record that a party answers encrypted queries; from now on their cost is due."""
        self._coordinator.ballots.record_evaluation(
            peer_identity(context), request.session_id, request.batch_id
        )
        return guardian_pb2.RecordEvaluationReply(audit_head=self._ledger.read(audit.head))

    def SubmitBallots(
        self, request_iterator: Iterator[guardian_pb2.SubmitBallotsRequest], context: grpc.ServicerContext
    ) -> guardian_pb2.SubmitBallotsReply:
        """Hold a party's share."""
        return self._submit_ballots(*read_stream(request_iterator), context)

    def SubmitBallotsWhole(
        self, request: guardian_pb2.SubmitBallotsWholeRequest, context: grpc.ServicerContext
    ) -> guardian_pb2.SubmitBallotsReply:
        """Hold a party's share that is one message."""
        return self._submit_ballots(*read_whole(request), context)

    def _submit_ballots(
        self, header: guardian_pb2.BallotsHeader, chunks: Iterable[bytes], context: grpc.ServicerContext
    ) -> guardian_pb2.SubmitBallotsReply:
        party = peer_identity(context)
        batch = self._coordinator.ballots.batch_to_submit(party, header.session_id, header.batch_id)
        challenge = b""
        with self._latest.only(context, "share", party.site, header.session_id, header.batch_id):
            if batch.plan.ballots == "verified":
                challenge = self._coordinator.ballots.submit_verified(
                    party,
                    batch,
                    lambda layouts: read_submission(batch.plan, batch.size, header, chunks, layouts),
                )
            else:
                self._coordinator.ballots.submit(
                    party, batch, read_share(batch.plan, batch.size, header, chunks)
                )
        return guardian_pb2.SubmitBallotsReply(
            audit_head=self._ledger.recall(audit.head), challenge=challenge
        )

    def SubmitProof(
        self, request_iterator: Iterator[guardian_pb2.SubmitProofRequest], context: grpc.ServicerContext
    ) -> guardian_pb2.SubmitProofReply:
        """Hold a party's answer to its challenge."""
        return self._submit_proof(*read_stream(request_iterator), context)

    def SubmitProofWhole(
        self, request: guardian_pb2.SubmitProofWholeRequest, context: grpc.ServicerContext
    ) -> guardian_pb2.SubmitProofReply:
        """Hold a party's answer that is one message."""
        return self._submit_proof(*read_whole(request), context)

    def _submit_proof(
        self, header: guardian_pb2.ProofHeader, chunks: Iterable[bytes], context: grpc.ServicerContext
    ) -> guardian_pb2.SubmitProofReply:
        party = peer_identity(context)
        batch = self._coordinator.ballots.batch_to_submit(party, header.session_id, header.batch_id)
        with self._latest.only(context, "proof", party.site, header.session_id, header.batch_id):
            self._coordinator.ballots.submit_proof(
                party, batch, lambda layouts: read_proof(header, chunks, layouts)
            )
        return guardian_pb2.SubmitProofReply(audit_head=self._ledger.recall(audit.head))

    def VerifyBallots(
        self, request_iterator: Iterator[guardian_pb2.VerifyBallotsRequest], context: grpc.ServicerContext
    ) -> guardian_pb2.VerifyBallotsReply:
        """Verify the ballots of a batch."""
        header = read_header(request_iterator)
        return self._verify_ballots(header, (request.party for request in request_iterator), context)

    def VerifyBallotsWhole(
        self, request: guardian_pb2.VerifyBallotsWholeRequest, context: grpc.ServicerContext
    ) -> guardian_pb2.VerifyBallotsReply:
        """Verify the ballots of a batch by one message."""
        return self._verify_ballots(request.header, request.parties, context)

    def _verify_ballots(
        self,
        header: guardian_pb2.VerificationHeader,
        parties: Iterable[guardian_pb2.PartyVerification],
        context: grpc.ServicerContext,
    ) -> guardian_pb2.VerifyBallotsReply:
        querier = peer_identity(context)
        batch = self._coordinator.batch_to_verify(querier, header.session_id, header.batch_id)
        refused = self._coordinator.ballots.verify(
            batch, lambda sizes: read_verification(header, parties, sizes)
        )
        return guardian_pb2.VerifyBallotsReply(refused=sorted(refused))

    def AttestBallots(
        self, request: guardian_pb2.AttestBallotsRequest, context: grpc.ServicerContext
    ) -> guardian_pb2.AttestBallotsReply:
        """Record a party's attestation of its refused ballots."""
        lied = self._coordinator.attestations.attest(peer_identity(context), request.attestation)
        return guardian_pb2.AttestBallotsReply(audit_head=self._ledger.read(audit.head), party_lied=lied)

    def Prepare(
        self, request: guardian_pb2.PrepareRequest, context: grpc.ServicerContext
    ) -> guardian_pb2.PrepareReply:
        """Freeze the party set of a batch."""
        return self._coordinator.prepare(
            peer_identity(context),
            request.session_id,
            request.batch_id,
            list(request.parties),
            read_row_sums(request),
        )

    def Release(
        self, request_iterator: Iterator[guardian_pb2.ReleaseRequest], context: grpc.ServicerContext
    ) -> Iterator[guardian_pb2.ReleaseReply]:
        """Release a batch; its answers, or its sum, are durable before the first message leaves."""
        yield from self._release(*read_stream(request_iterator), context)

    def ReleaseWhole(
        self, request: guardian_pb2.ReleaseWholeRequest, context: grpc.ServicerContext
    ) -> Iterator[guardian_pb2.ReleaseReply]:
        """Release a batch by a sum that is one message."""
        yield from self._release(*read_whole(request), context)

    def _release(
        self, header: guardian_pb2.ReleaseHeader, chunks: Iterable[bytes], context: grpc.ServicerContext
    ) -> Iterator[guardian_pb2.ReleaseReply]:
        querier = peer_identity(context)
        batch = self._coordinator.batch_to_release(querier, header.session_id, header.batch_id)
        request = read_share(batch.plan, batch.size, header, chunks, header.score_width)
        stored = self._coordinator.release(batch, request)
        reply = guardian_pb2.ReleaseReply.FromString(stored)
        for chunk in split(reply.update.data):
            yield guardian_pb2.ReleaseReply(update=chunk)
        answers = reply.answers
        for start in range(0, len(answers), ANSWERS_PER_MESSAGE):
            yield guardian_pb2.ReleaseReply(answers=answers[start : start + ANSWERS_PER_MESSAGE])

    def BeginTally(
        self, request: guardian_pb2.BeginTallyRequest, context: grpc.ServicerContext
    ) -> guardian_pb2.BeginTallyReply:
        """Begin a stage of a blind tally."""
        blind = self._coordinator.blind
        step = blind.step(peer_identity(context), StepId(request.session_id, request.batch_id, request.stage))
        return guardian_pb2.BeginTallyReply(points=blind.begin(step, request.point))

    def GarbleTally(
        self, request_iterator: Iterator[common_pb2.Step], context: grpc.ServicerContext
    ) -> Iterator[common_pb2.Step]:
        """Charge a stage; its charge is durable before the first message leaves."""
        blind = self._coordinator.blind
        header = read_header(request_iterator)
        step = blind.step(peer_identity(context), StepId.of(header))
        sizes = blind.sizes(step)
        extension = read_request(header, request_iterator, most=sizes.extension)
        yield from reply_messages(step.id, sizes.tables, blind.garble(step, extension))

    def CompareTally(
        self, request_iterator: Iterator[common_pb2.Step], context: grpc.ServicerContext
    ) -> Iterator[common_pb2.Step]:
        """Send labels of the guardian's words."""
        blind = self._coordinator.blind
        header = read_header(request_iterator)
        step = blind.step(peer_identity(context), StepId.of(header))
        sizes = blind.sizes(step)
        correction = read_request(header, request_iterator, most=sizes.correction)
        yield from reply_messages(step.id, sizes.labels, [blind.compare(step, correction)])

    def OpenCheck(
        self, request_iterator: Iterator[common_pb2.Step], context: grpc.ServicerContext
    ) -> guardian_pb2.OpenCheckReply:
        """Return what passed the check."""
        blind = self._coordinator.blind
        header = read_header(request_iterator)
        step = blind.step(peer_identity(context), StepId.of(header))
        returned = read_request(header, request_iterator, most=blind.sizes(step).returned)
        passed = blind.open_check(step, returned)
        return guardian_pb2.OpenCheckReply(passed=np.packbits(passed).tobytes())

    def SettleBatch(
        self, request: guardian_pb2.SettleBatchRequest, context: grpc.ServicerContext
    ) -> guardian_pb2.SettleBatchReply:
        """Return the final state of a batch."""
        stored = self._coordinator.settle(peer_identity(context), request.session_id, request.batch_id)
        if stored is None:
            return guardian_pb2.SettleBatchReply(released=False)
        answers = guardian_pb2.ReleaseReply.FromString(stored).answers
        return guardian_pb2.SettleBatchReply(released=True, answers=answers)

    def ReleasedUpdate(
        self, request: guardian_pb2.SettleBatchRequest, context: grpc.ServicerContext
    ) -> Iterator[common_pb2.Chunk]:
        """Return the released sum of a round again."""
        asker = peer_identity(context)
        yield from split(self._coordinator.released_update(asker, request.session_id, request.batch_id))

    def CloseSession(
        self, request: guardian_pb2.CloseSessionRequest, context: grpc.ServicerContext
    ) -> guardian_pb2.CloseSessionReply:
        """Close a session."""
        self._coordinator.close_session(peer_identity(context), request.session_id)
        return guardian_pb2.CloseSessionReply()

    def Standing(
        self, request: guardian_pb2.StandingRequest, context: grpc.ServicerContext
    ) -> guardian_pb2.StandingReply:
        """Return the caller's own status."""
        return self._standing.of(peer_identity(context))
