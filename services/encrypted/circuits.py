"""The garbled circuits of an encrypted batch: one computation for each clique that votes."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from common.confidential import ballots_binding, cut
from common.crypto.ballot_circuits import BallotCircuit, ballot_circuit
from common.crypto.ckks.parameters import LOGIT_BITS
from common.crypto.stream import SEED_BYTES, Stream
from common.crypto.two_party import Garbling
from common.encrypted_order import EncryptedTurn, encrypted_turns
from services.grants import Permission


@dataclass(frozen=True)
class CliqueCircuits:
    """One clique's votes: which, how they are counted, and this party's half of the computation."""

    turn: EncryptedTurn
    ballot: BallotCircuit
    garbling: Garbling

    @classmethod
    def of(cls, permission: Permission, turn: EncryptedTurn, seed: bytes) -> Self:
        """The circuits of one turn; all of their randomness is the seed's."""
        plan = permission.plan
        ballot = ballot_circuit(plan.mechanism, plan.classes, turn.weight, LOGIT_BITS)
        bound = ballots_binding(*permission.key, permission.participant.site, turn.clique)
        own = Stream(seed, f"garbling {turn.clique}").octets(SEED_BYTES)
        return cls(turn, ballot, Garbling(ballot.circuit, turn.instances, own, bound))


class BatchCircuits:
    """All circuits of a batch; a message is the cliques' joined in their order, the same at every call."""

    def __init__(self, permission: Permission, seed: bytes) -> None:
        """Takes what the batch is and the fresh 32 bytes that everything here is derived from."""
        turns = encrypted_turns(permission.participant, permission.scheduled)
        self._cliques = [CliqueCircuits.of(permission, turn, seed) for turn in turns]
        self._sizes = [own.ballot.circuit.sizes(own.turn.instances) for own in self._cliques]
        self._size = permission.size

    @property
    def turns(self) -> Sequence[EncryptedTurn]:
        """Whose votes these are."""
        return [own.turn for own in self._cliques]

    @property
    def extension_bytes(self) -> int:
        """Size of the extension message."""
        return sum(sizes.extension for sizes in self._sizes)

    @property
    def tables_bytes(self) -> int:
        """Size of the garbled tables."""
        return sum(sizes.tables for sizes in self._sizes)

    @property
    def correction_bytes(self) -> int:
        """Size of the correction."""
        return sum(sizes.correction for sizes in self._sizes)

    @property
    def labels_bytes(self) -> int:
        """Size of the labels."""
        return sum(sizes.labels for sizes in self._sizes)

    def points(self, point: bytes) -> bytes:
        """Answers the base transfers; raises `message.invalid` or `crypto.refused`."""
        parts = cut(point, [sizes.point for sizes in self._sizes])
        return b"".join(own.garbling.points(part) for own, part in zip(self._cliques, parts, strict=True))

    def accept(self, extension: bytes) -> None:
        """Takes the extension; raises `message.invalid` for another size, `crypto.refused` for a forgery."""
        parts = cut(extension, [sizes.extension for sizes in self._sizes])
        for own, part in zip(self._cliques, parts, strict=True):
            own.garbling.accept(part)

    def tables(self) -> Iterator[bytes]:
        """The garbled tables, part by part, once the extension is accepted."""
        for own in self._cliques:
            yield from own.garbling.tables()

    def shares(self) -> NDArray[np.uint32]:
        """This party's share of its ballots (queries, width) in Z_2^32, in steps of 2^-16 vote."""
        parts = [
            own.turn.ballots(own.ballot.combine(own.garbling.shares()), self._size) for own in self._cliques
        ]
        total: NDArray[np.uint32] = np.sum(parts, axis=0, dtype=np.uint32)
        return total

    def labels(self, correction: bytes, logits: Sequence[NDArray[np.uint64]]) -> Iterator[bytes]:
        """The labels of this party's words, clique by clique.

        Args:
            correction: the querying party's; `message.invalid` for another size, before anything is given.
            logits: this party's share of them by clique, (teachers, queries of the batch, classes).
        """
        parts = cut(correction, [sizes.correction for sizes in self._sizes])
        for own, part, words in zip(self._cliques, parts, logits, strict=True):
            yield own.garbling.labels(part, own.turn.words(words))
