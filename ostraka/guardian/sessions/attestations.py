"""Refused ballots, and what their parties attest of them: who lied, where that can be told."""

import hmac
import threading
from collections import defaultdict, deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from google.protobuf.message import Message

from ostraka.common.clock import Clock
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.identity import Credentials, Identity, read_signed
from ostraka.common.wire.contexts import ATTESTATION_CONTEXT, EVALUATION_CONTEXT
from ostraka.guardian.ledger import Ledger
from ostraka.guardian.ledger.sessions import refused_ballots
from ostraka.protos.ostraka.v1 import common_pb2

M = TypeVar("M", bound=Message)

MAX_ASKED = 16
"""Refused batches that a party is asked about, the latest; as many as `RegisterReply` names."""
DIGEST_BYTES = 32
"""Bytes of an attestation."""


@dataclass(frozen=True)
class RefusedBallot:
    """What is held against a party's ballots, and what the querying party sent of them.

    Attributes:
        evaluation: session, batch and point seed, as the querying party signed them.
        commitment: what the party committed to, before its challenge.
        sent_commitment: to the seed that the querying party says it got.
        sent_digest: `share_digest` of the verifier share that it sent.
    """

    evaluation: common_pb2.Signed
    commitment: bytes
    sent_commitment: bytes
    sent_digest: bytes

    def proves_lie(self, attested: bytes) -> bool:
        """Whether the party proved to have lied, by the digest that it attests; else one of two sides did.

        An honest party attests the share that its seed implies. If the querying party sent that share, and
        the commitment to that seed, these ballots would have been accepted.
        """
        committed = hmac.compare_digest(self.commitment, self.sent_commitment)
        return hmac.compare_digest(attested, self.sent_digest) and committed

    def findings(self, attested: bytes) -> dict[str, str]:
        """Return what the audit log says of it once it is attested."""
        return {
            "proved": "party lied" if self.proves_lie(attested) else "one of two lied",
            "evaluation": _hex(self.evaluation),
            "commitment": self.commitment.hex(),
            "sent_commitment": self.sent_commitment.hex(),
            "sent_sha256": self.sent_digest.hex(),
        }


@dataclass
class _Asked:
    """One refused batch of one party, and what it attested first. Guard `attested` by `lock`."""

    key: tuple[str, int]
    ends_at: float
    ballot: RefusedBallot
    lock: threading.Lock = field(default_factory=threading.Lock)
    attested: bytes | None = None


class Attestations:
    """Asks parties, when they register, about the ballots that were refused; safe to use from many threads.

    It forgets batches of sessions that are over, and all of them when the process ends: such refusals stay
    unproved.
    """

    def __init__(self, ledger: Ledger, credentials: Credentials, clock: Clock) -> None:
        """Take the ledger, what signatures are verified against, and what tells when a session is over."""
        self._ledger = ledger
        self._credentials = credentials
        self._clock = clock
        # Guards the lists of `_asked`; what was attested of a batch has a lock of its own, held over a write.
        self._lock = threading.Lock()
        self._asked: dict[str, deque[_Asked]] = defaultdict(lambda: deque(maxlen=MAX_ASKED))

    def evaluation(
        self, signed: common_pb2.Signed, querier: str, expected: common_pb2.Evaluation
    ) -> common_pb2.Signed:
        """Return what a querying party, named by its URI, signed, and nothing that it added.

        Raises:
            OstrakaError: `message.invalid` or `identity.*` unless it is `expected`.
        """
        signer = Identity.parse(querier)
        if self._read(signed, EVALUATION_CONTEXT, common_pb2.Evaluation(), signer) != expected:
            raise OstrakaError(
                ErrorCode.MESSAGE_INVALID,
                "The evaluation that was signed is not the one that was sent: sign session, batch and seed.",
            )
        return _bare(signed)

    def ask(self, key: tuple[str, int], ends_at: float, refused: Mapping[str, RefusedBallot]) -> None:
        """Have the parties of refused ballots asked about a batch until its session is over; each once."""
        with self._lock:
            for site, ballot in refused.items():
                if not any(asked.key == key for asked in self._asked[site]):
                    self._asked[site].append(_Asked(key, ends_at, ballot))

    def pending(self, party: Identity) -> list[common_pb2.Signed]:
        """Return the signed evaluations that a party which registers is asked about."""
        return [asked.ballot.evaluation for asked in self._of(party) if asked.attested is None]

    def attest(self, party: Identity, signed: common_pb2.Signed) -> bool:
        """Keep what a party signs of refused ballots in the audit log, once; whether it proves that it lied.

        Raises:
            OstrakaError: `identity.*`, `message.invalid` for what is no attestation of the party's,
                `batch.out_of_order` where it is not asked for one, `batch.altered` for another than the
                first, and as `Ledger.write_session`.
        """
        told = self._read(signed, ATTESTATION_CONTEXT, common_pb2.Attestation(), party)
        if len(told.sha256) != DIGEST_BYTES:
            raise OstrakaError(
                ErrorCode.MESSAGE_INVALID,
                f"An attestation has {DIGEST_BYTES} bytes of a digest; use the same version everywhere.",
            )
        asked = self._find(party, (told.session_id, told.batch_id))
        with asked.lock:
            if asked.attested is None:
                found = {**asked.ballot.findings(told.sha256), "attestation": _hex(signed)}
                record = refused_ballots.record_attestation
                self._ledger.write_session(told.session_id, record, told.batch_id, party.site, found)
                asked.attested = told.sha256
            elif not hmac.compare_digest(asked.attested, told.sha256):
                raise OstrakaError(
                    ErrorCode.BATCH_ALTERED,
                    "Other ballots of this batch are attested already; send the same attestation again.",
                )
            return asked.ballot.proves_lie(told.sha256)

    def _read(self, signed: common_pb2.Signed, context: bytes, message: M, signer: Identity) -> M:
        """Return what exactly `signer` signed; refuse fields that nobody knows, since they would be kept."""
        read = read_signed(
            signed,
            context,
            message,
            signer=signer,
            ca_pem=self._credentials.ca_pem,
            clock=self._clock,
            invalid=ErrorCode.MESSAGE_INVALID,
            revocations=self._credentials.revocations,
        )
        read.DiscardUnknownFields()
        if read.SerializeToString(deterministic=True) != signed.payload:
            raise OstrakaError(
                ErrorCode.MESSAGE_INVALID,
                f"What {signer.uri} signed has more than its fields; use the same version everywhere.",
            )
        return read

    def _find(self, party: Identity, key: tuple[str, int]) -> _Asked:
        for asked in self._of(party):
            if asked.key == key:
                return asked
        raise OstrakaError(
            ErrorCode.BATCH_OUT_OF_ORDER,
            "Nobody waits for an attestation of this batch: attest only what the guardian asks about.",
        )

    def _of(self, party: Identity) -> list[_Asked]:
        """Return what is not over of a party's refused batches, and forget the others."""
        now = self._clock.now()
        with self._lock:
            kept = [asked for asked in self._asked.pop(party.site, ()) if asked.ends_at >= now]
            if kept:
                self._asked[party.site].extend(kept)
            return kept


def _bare(signed: common_pb2.Signed) -> common_pb2.Signed:
    """Return a signed message without unknown fields."""
    return common_pb2.Signed(
        payload=signed.payload, signature=signed.signature, certificate_der=signed.certificate_der
    )


def _hex(signed: common_pb2.Signed) -> str:
    return _bare(signed).SerializeToString(deterministic=True).hex()
