"""What a party can say of its latest verified ballots, should the guardian refuse them; in memory only."""

import threading

from google.protobuf.message import DecodeError

from ostraka.common.clock import Clock
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.identity import Credentials, Identity, read_signed
from ostraka.common.sharing.shares import SEED_BYTES
from ostraka.common.verified.attestation import Attester
from ostraka.common.wire.contexts import ATTESTATION_CONTEXT, EVALUATION_CONTEXT
from ostraka.protos.ostraka.v1 import common_pb2

KEPT = 1000
"""Batches whose ballots can be attested; refusals are told within `wiring.AGAIN_S`, and older batches go."""

_Key = tuple[str, int]
"""Session and batch id."""


class Attesters:
    """Attesters of batches, and who got their seeds; safe to use from many threads."""

    def __init__(self, credentials: Credentials, clock: Clock) -> None:
        self._credentials = credentials
        self._clock = clock
        self._kept: dict[_Key, tuple[Attester, str]] = {}
        self._lock = threading.Lock()

    def keep(self, key: _Key, attester: Attester, querier: str) -> None:
        """Keep who attests a batch to whose seed `querier`, an identity's URI, has a right.

        The oldest batch goes for one too many.
        """
        with self._lock:
            self._kept[key] = attester, querier
            if len(self._kept) > KEPT:
                del self._kept[next(iter(self._kept))]

    def attestation(self, evaluation: common_pb2.Signed) -> common_pb2.Signed | None:
        """Return a signed Attestation of refused ballots, at the point that their querying party signed.

        None where this process did not prove ballots of that batch.

        Raises:
            OstrakaError: `message.invalid` or `identity.*` where it is not signed by the querying party.
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
    """Return which batch is named, whoever signed that."""
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
