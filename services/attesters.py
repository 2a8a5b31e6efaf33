"""What a party can say of its latest verified ballots, should the guardian refuse them; in memory only."""

import threading

from ostraka.common.verified.attestation import Attester
from ostraka.protos.ostraka.v1 import common_pb2, guardian_pb2

KEPT = 1000
"""Batches whose ballots can be attested; refusals are told within `wiring.AGAIN_S`, and older batches go."""

_Key = tuple[str, int]
"""Session and batch id."""


class Attesters:
    """Attesters by session and batch; safe to use from many threads."""

    def __init__(self) -> None:
        """Start with none."""
        self._kept: dict[_Key, Attester] = {}
        self._lock = threading.Lock()

    def keep(self, key: _Key, attester: Attester) -> None:
        """Keep who attests a batch, the first for it; the oldest batch goes for one too many."""
        with self._lock:
            self._kept.setdefault(key, attester)
            if len(self._kept) > KEPT:
                del self._kept[next(iter(self._kept))]

    def attestation(self, refused: guardian_pb2.RefusedBallots) -> common_pb2.Attestation | None:
        """Return what is to be signed of refused ballots; None where this process never proved them.

        Raises `batch.altered` for another point than before, `message.invalid` for none.
        """
        with self._lock:
            attester = self._kept.get((refused.session_id, refused.batch_id))
            if attester is None:
                return None
            return common_pb2.Attestation(
                session_id=refused.session_id,
                batch_id=refused.batch_id,
                sha256=attester.attest(refused.point_seed),
            )
