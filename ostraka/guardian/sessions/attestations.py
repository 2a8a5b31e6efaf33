"""Refused ballots, and their parties' attestations: who lied, if that can be decided."""

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
"""Largest number of refused batches about which a party is asked, the latest; the `RegisterReply` limit."""
DIGEST_BYTES = 32
"""Length of an attestation in bytes."""


@dataclass(frozen=True)
class RefusedBallot:
    """The evidence against a party's ballots, and what the querying party sent about them.

    Attributes:
        evaluation: session, batch and point seed, as the querying party signed them.
        commitment: the party's commitment, from before its challenge.
        sent_commitment: the commitment to the seed that the querying party reports.
        sent_digest: `share_digest` of the verifier share that it sent.
    """

    evaluation: common_pb2.Signed
    commitment: bytes
    sent_commitment: bytes
    sent_digest: bytes

    def proves_lie(self, attested: bytes) -> bool:
        """Whether the attested digest proves that the party lied; else one of the two sides did.

        An honest party attests the share that its seed implies. If the querying party sent that share, and
        the commitment to that seed, these ballots would have been accepted.
        """
        committed = hmac.compare_digest(self.commitment, self.sent_commitment)
        return hmac.compare_digest(attested, self.sent_digest) and committed

    def findings(self, attested: bytes) -> dict[str, str]:
        """Return the audit log's entry for an attested ballot."""
        return {
            "proved": "party lied" if self.proves_lie(attested) else "one of two lied",
            "evaluation": _hex(self.evaluation),
            "commitment": self.commitment.hex(),
            "sent_commitment": self.sent_commitment.hex(),
            "sent_sha256": self.sent_digest.hex(),
        }


@dataclass
class _Asked:
    """One refused batch of one party, and its first attestation. Guard `attested` by `lock`."""

    key: tuple[str, int]
    ends_at: float
    ballot: RefusedBallot
    lock: threading.Lock = field(default_factory=threading.Lock)
    attested: bytes | None = None


class Attestations:
    """Asks parties, when they register, about their refused ballots; safe to use from many threads.

    It forgets batches of finished sessions, and all batches when the process ends: such refusals stay
    unproved.
    """

    def __init__(self, ledger: Ledger, credentials: Credentials, clock: Clock) -> None:
        """Take the ledger, the credentials that verify signatures, and the clock that ends sessions."""
        self._ledger = ledger
        self._credentials = credentials
        self._clock = clock
        # Guards the lists of `_asked`; each batch's attestation has its own lock, held over a write.
        self._lock = threading.Lock()
        self._asked: dict[str, deque[_Asked]] = defaultdict(lambda: deque(maxlen=MAX_ASKED))

    def evaluation(
        self, signed: common_pb2.Signed, querier: str, expected: common_pb2.Evaluation
    ) -> common_pb2.Signed:
        """Return what a querying party, named by its URI, signed, without any additions.

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
        """Ask the parties of refused ballots about a batch until its session is over; each once."""
        with self._lock:
            for site, ballot in refused.items():
                if not any(asked.key == key for asked in self._asked[site]):
                    self._asked[site].append(_Asked(key, ends_at, ballot))

    def pending(self, party: Identity) -> list[common_pb2.Signed]:
        """Return the signed evaluations about which a registering party is asked."""
        return [asked.ballot.evaluation for asked in self._of(party) if asked.attested is None]

    def attest(self, party: Identity, signed: common_pb2.Signed) -> bool:
        """Record a party's attestation of refused ballots in the audit log, once; return whether it lied.

        Raises:
            OstrakaError: `identity.*`, `message.invalid` if it is not an attestation of the party,
                `batch.out_of_order` if the party was not asked, `batch.altered` if it differs from the first,
                and as `Ledger.write_session`.
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
        """Return exactly what `signer` signed; refuse unknown fields, because they would be stored."""
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
        """Return a party's refused batches of unfinished sessions, and forget the others."""
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
