"""The answering party's client of the guardian: registers the manifest, submits shares of ballots."""

import hashlib
import random
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import TypeVar

import grpc
import structlog
from google.protobuf.message import DecodeError

from ostraka.common.clock import Clock
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.identity import Credentials, Identity, Role, read_signed, verify_signed
from ostraka.common.rpc import call_error, open_channel, with_retries
from ostraka.common.rpc.redirect import Replicas
from ostraka.common.rpc.shares import ShareSender, stream_share
from ostraka.common.sharing.shares import SEED_BYTES
from ostraka.common.verified.attestation import Attester
from ostraka.common.verified.prover import Prover
from ostraka.common.wire.contexts import (
    ATTESTATION_CONTEXT,
    AUDIT_CONTEXT,
    EVALUATION_CONTEXT,
    MANIFEST_CONTEXT,
)
from ostraka.protos.ostraka.v1 import common_pb2, guardian_pb2
from ostraka.protos.ostraka.v1.guardian_pb2_grpc import GuardianStub
from ostraka.services.journal.journal import Journal, receipts

MAX_ATTESTED = 1000
"""Maximum number of batches whose ballots can be attested. Refusals arrive within `wiring.AGAIN_S`; older
batches are dropped."""

_Key = tuple[str, int]
"""Session and batch id."""


class Attesters:
    """Attesters of batches, and the receivers of their seeds; thread-safe."""

    def __init__(self, credentials: Credentials, clock: Clock) -> None:
        self._credentials = credentials
        self._clock = clock
        self._kept: dict[_Key, tuple[Attester, str]] = {}
        # Guards the dictionary: adding an entry and dropping the oldest must be atomic.
        self._lock = threading.Lock()

    def keep(self, key: _Key, attester: Attester, querier: str) -> None:
        """Store the attester of a batch; `querier`, an identity's URI, may see its seed.

        The oldest batch is dropped if there are too many.
        """
        with self._lock:
            self._kept[key] = attester, querier
            if len(self._kept) > MAX_ATTESTED:
                del self._kept[next(iter(self._kept))]

    def attestation(self, evaluation: common_pb2.Signed) -> common_pb2.Signed | None:
        """Return a signed Attestation of refused ballots, at the point that their querying party signed.

        None if this process did not prove ballots of that batch.

        Raises:
            OstrakaError: `message.invalid` or `identity.*` if the querying party did not sign it.
        """
        key = _key(evaluation)
        with self._lock:
            kept = self._kept.get(key)
        if kept is None:
            return None
        attester, querier = kept
        told = read_signed(
            evaluation,
            EVALUATION_CONTEXT,
            common_pb2.Evaluation(),
            signer=Identity.parse(querier),
            ca_pem=self._credentials.ca_pem,
            clock=self._clock,
            invalid=ErrorCode.MESSAGE_INVALID,
        )
        if len(told.point_seed) != SEED_BYTES:
            raise _invalid()
        attestation = common_pb2.Attestation(
            session_id=told.session_id, batch_id=told.batch_id, sha256=attester.attest(told.point_seed)
        )
        return self._credentials.sign(ATTESTATION_CONTEXT, attestation.SerializeToString())


def _key(evaluation: common_pb2.Signed) -> _Key:
    """Return the named batch, without checking the signature."""
    try:
        told = common_pb2.Evaluation.FromString(evaluation.payload)
    except DecodeError as exc:
        raise _invalid() from exc
    return told.session_id, told.batch_id


def _invalid() -> OstrakaError:
    return OstrakaError(
        ErrorCode.MESSAGE_INVALID,
        f"Refused ballots are told with session, batch and a seed of {SEED_BYTES} bytes; use the same version"
        " everywhere.",
    )


ATTEMPTS = 6
"""With waits that double from `BASE_S`, about five seconds: a restarting guardian is usually back by then,
and more would delay the querying party, whose batch waits for this share."""
BASE_S = 0.2
"""Longest wait before the second attempt."""
CALL_TIMEOUT_S = 30.0
"""Timeout of a call for one batch, or one manifest."""
RECONCILE_TIMEOUT_S = 600.0
"""Timeout of the call that reports everything this party ever answered, possibly many thousand charges."""

_PARTY_LIED = (
    "this party's ballots are not votes of its teachers, or hold more noise than it may add, or no sum over"
    " its records"
)
_ONE_LIED = "the querying party sent another verifier share than this party's seed implies"

T = TypeVar("T")


@dataclass(frozen=True)
class GuardianShare:
    """The guardian's share of a batch's ballots: rows x width little-endian ring elements.

    If ballots are verified, there is a `prover`, the share is of digits, and `querier`, an identity's URI,
    gets the seed of the other share.
    """

    session_id: str
    batch_id: int
    rows: int
    width: int
    data: bytes = field(repr=False)
    prover: Prover | None = field(default=None, repr=False)
    querier: str = ""

    def header(self) -> guardian_pb2.BallotsHeader:
        """Return the header of the share, the same bytes every time."""
        return guardian_pb2.BallotsHeader(
            session_id=self.session_id,
            batch_id=self.batch_id,
            rows=self.rows,
            width=self.width,
            sha256=hashlib.sha256(self.data).digest(),
            commitment=self.prover.commitment if self.prover else b"",
            blind_seed=self.prover.blind_seed if self.prover else b"",
        )

    def message(self) -> guardian_pb2.SubmitBallotsWholeRequest:
        """Return the submission as one message."""
        return guardian_pb2.SubmitBallotsWholeRequest(header=self.header(), data=self.data)

    def messages(self) -> Iterator[guardian_pb2.SubmitBallotsRequest]:
        """Yield the submission as a stream."""
        return stream_share(guardian_pb2.SubmitBallotsRequest, self.header(), self.data)

    def proof_header(self, proof: bytes) -> guardian_pb2.ProofHeader:
        """Return the header of the answer to a challenge."""
        return guardian_pb2.ProofHeader(
            session_id=self.session_id, batch_id=self.batch_id, sha256=hashlib.sha256(proof).digest()
        )

    def proof_message(self, proof: bytes) -> guardian_pb2.SubmitProofWholeRequest:
        """Return the answer to a challenge as one message."""
        return guardian_pb2.SubmitProofWholeRequest(header=self.proof_header(proof), data=proof)

    def proof_messages(self, proof: bytes) -> Iterator[guardian_pb2.SubmitProofRequest]:
        """Yield the answer to a challenge as a stream."""
        return stream_share(guardian_pb2.SubmitProofRequest, self.proof_header(proof), proof)


class GuardianLink:
    """Channels to the guardian that pin its identity, and record its audit heads in the journal."""

    def __init__(
        self,
        credentials: Credentials,
        address: str,
        guardian: Identity,
        journal: Journal,
        clock: Clock,
        *,
        insecure: bool = False,
        attempts: int = ATTEMPTS,
        sleep: Callable[[float], object] = time.sleep,
        rng: random.Random | None = None,
    ) -> None:
        self._credentials = credentials
        self._guardian = guardian
        self._journal = journal
        self._clock = clock
        self._attempts = attempts
        self._sleep = sleep
        self._rng = rng or random.Random()  # noqa: S311
        connect = partial(open_channel, credentials, expected=guardian, insecure=insecure, clock=clock)
        self._replicas = Replicas(connect, address)
        self._epoch = journal.epoch()
        self._attesters = Attesters(credentials, clock)
        self._sender = ShareSender()

    def register(self, manifest: common_pb2.Manifest, attempts: int | None = None) -> None:
        """Declare this party's records and teachers, signed; retry while the guardian is unreachable.

        A guardian with a restored ledger then gets everything that this party ever answered, and every
        guardian gets attestations of refused ballots.
        """
        # Stored before the guardian gets it: if the guardian loses it, this party must be able to repeat it.
        self._journal.declare_votes(manifest.max_votes_per_person)
        signed = self._credentials.sign(MANIFEST_CONTEXT, manifest.SerializeToString(deterministic=True))
        request = guardian_pb2.RegisterRequest(
            manifest=signed,
            kept_head=self._journal.audit_head(),
            revocations=self._credentials.revocations.number,
        )

        def register(channel: grpc.Channel) -> guardian_pb2.RegisterReply:
            return GuardianStub(channel).Register(request, timeout=CALL_TIMEOUT_S)

        reply = self._call(register, attempts=attempts)
        self._revoke(reply.revocations)
        if reply.reconcile:
            self._reconcile(attempts)
        else:
            self._keep(reply.audit_head, reply.epoch)
        for evaluation in reply.refused:
            self._attest(evaluation)

    def _attest(self, evaluation: common_pb2.Signed) -> None:
        """Attest what the seed of this process's refused ballots implies; log what that proved.

        If this fails, the guardian asks again at the next registration.
        """
        log = structlog.get_logger()
        try:
            attestation = self._attesters.attestation(evaluation)
            if attestation is None:
                return
            told = common_pb2.Attestation.FromString(attestation.payload)
            log = log.bind(session=told.session_id, batch=told.batch_id)
            epoch = self._epoch
            request = guardian_pb2.AttestBallotsRequest(attestation=attestation)

            def attest(channel: grpc.Channel) -> guardian_pb2.AttestBallotsReply:
                return GuardianStub(channel).AttestBallots(request, timeout=CALL_TIMEOUT_S)

            reply = self._call(attest, told.session_id, attempts=1)
        except OstrakaError as exc:
            log.warning("ballots.not_attested", code=exc.code, sentence=exc.message)
            return
        self._keep(reply.audit_head, epoch)
        log.warning("ballots.refused", proved=_PARTY_LIED if reply.party_lied else _ONE_LIED)

    def _revoke(self, newer: bytes) -> None:
        """Put the guardian's revocation list into force; refuse one that the CA did not sign."""
        if newer:
            try:
                self._credentials.revocations.accept(newer)
            except OstrakaError as exc:
                structlog.get_logger().error("revocations.refused", sentence=exc.message)

    def submit(self, share: GuardianShare) -> None:
        """Send one batch's share until the guardian acknowledges it; raise its refusal.

        If ballots are verified, the guardian's challenge is answered too. Raises `batch.altered` for a second
        challenge to the same ballots: two proofs with the same mask would reveal votes.
        """
        # Read before the call: the returned head does not belong to an epoch that is learned meanwhile.
        epoch = self._epoch

        def submit(channel: grpc.Channel) -> guardian_pb2.SubmitBallotsReply:
            stub = GuardianStub(channel)
            return self._sender.send(
                channel,
                len(share.data),
                whole=lambda: stub.SubmitBallotsWhole(share.message(), timeout=CALL_TIMEOUT_S),
                stream=lambda: stub.SubmitBallots(share.messages(), timeout=CALL_TIMEOUT_S),
            )

        reply = self._call(submit, share.session_id)
        self._keep(reply.audit_head, epoch)
        if share.prover is not None:
            proof = share.prover.prove(_challenge(reply))

            def answer(channel: grpc.Channel) -> guardian_pb2.SubmitProofReply:
                stub = GuardianStub(channel)
                return self._sender.send(
                    channel,
                    len(proof),
                    whole=lambda: stub.SubmitProofWhole(share.proof_message(proof), timeout=CALL_TIMEOUT_S),
                    stream=lambda: stub.SubmitProof(share.proof_messages(proof), timeout=CALL_TIMEOUT_S),
                )

            self._keep(self._call(answer, share.session_id).audit_head, epoch)
            key = share.session_id, share.batch_id
            self._attesters.keep(key, share.prover.attester, share.querier)

    def record_evaluation(self, session_id: str, batch_id: int) -> None:
        """Report to the guardian that this party answers a batch of encrypted queries.

        The guardian charges it from now on. Returns when that is durable there, and raises the guardian's
        refusal.
        """
        epoch = self._epoch
        request = guardian_pb2.RecordEvaluationRequest(session_id=session_id, batch_id=batch_id)

        def record(channel: grpc.Channel) -> guardian_pb2.RecordEvaluationReply:
            return GuardianStub(channel).RecordEvaluation(request, timeout=CALL_TIMEOUT_S)

        self._keep(self._call(record, session_id).audit_head, epoch)

    def close(self) -> None:
        """Close the channels."""
        self._replicas.close()

    def _reconcile(self, attempts: int | None) -> None:
        def reconcile(channel: grpc.Channel) -> guardian_pb2.ReconcileReply:
            told = receipts(self._journal, self._credentials)
            return GuardianStub(channel).Reconcile(told, timeout=RECONCILE_TIMEOUT_S)

        reply = self._call(reconcile, attempts=attempts)
        structlog.get_logger().warning("party.reconciled", epoch=reply.epoch, charged=reply.charged)
        self._keep(reply.audit_head, reply.epoch)

    def _call(
        self, call: Callable[[grpc.Channel], T], session_id: str = "", *, attempts: int | None = None
    ) -> T:
        try:
            return with_retries(
                lambda: self._replicas.call(call, session_id),
                attempts=attempts or self._attempts,
                base_s=BASE_S,
                sleep=self._sleep,
                rng=self._rng,
            )
        except grpc.RpcError as exc:
            raise call_error(exc) from exc

    def _keep(self, head: common_pb2.AuditHead, epoch: int) -> None:
        """Store an audit head that the guardian signed; log an error for an invalid one, without failing."""
        try:
            signer = verify_signed(
                head.signed,
                AUDIT_CONTEXT,
                ca_pem=self._credentials.ca_pem,
                clock=self._clock,
                federation=self._guardian.federation,
                role=Role.GUARDIAN,
                site=self._guardian.site,
                invalid=ErrorCode.LEDGER_TAMPERED,
                revocations=self._credentials.revocations,
            )
        except OstrakaError as exc:
            structlog.get_logger().error("audit_head_refused", sequence=head.sequence, code=exc.code)
            return
        if head.signed.payload != head.sequence.to_bytes(8, "big") + head.hash:
            structlog.get_logger().error("audit_head_refused", sequence=head.sequence, signer=signer.uri)
            return
        self._journal.keep_head(head, epoch)
        self._epoch = max(self._epoch, epoch)


def _challenge(reply: guardian_pb2.SubmitBallotsReply) -> bytes:
    if len(reply.challenge) != SEED_BYTES:
        raise OstrakaError(
            ErrorCode.MESSAGE_INVALID,
            f"The guardian sent a challenge of {len(reply.challenge)} bytes and not {SEED_BYTES}: use the "
            "same version everywhere.",
        )
    return reply.challenge
