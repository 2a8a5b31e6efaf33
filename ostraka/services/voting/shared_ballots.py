"""Ballots of a batch, split into the shares of the guardian and of the querying party."""

import secrets
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ostraka.common.sharing.shares import SEED_BYTES, split
from ostraka.common.verified.parts import Part, context_of
from ostraka.common.verified.prover import Prover
from ostraka.services.admission.grants import Permission
from ostraka.services.voting.submission import GuardianShare


class Ballots(Protocol):
    """What a party votes in one batch."""

    def share(self, permission: Permission, seed: bytes) -> GuardianShare:
        """Return the guardian's share, where the querying party's is what `seed` expands to."""


@dataclass(frozen=True)
class UnverifiedBallots:
    """Ballots of all cohorts together, weighted.

    Attributes:
        votes: (queries, width).
    """

    votes: NDArray[np.number[Any]] = field(repr=False)

    def share(self, permission: Permission, seed: bytes) -> GuardianShare:
        """As `Ballots.share`."""
        ring = permission.plan.modulus
        rows, width = self.votes.shape
        return GuardianShare(*permission.key, rows, width, ring.to_bytes(split(self.votes, seed, ring)))


@dataclass(frozen=True)
class VerifiedBallots:
    """Ballots whose counts the guardian and the querying party verify.

    Attributes:
        parts: what is proved.
        votes: of the cohorts of each part, unweighted, (queries, width).
        random: takes a number of bytes.
    """

    parts: tuple[Part, ...]
    votes: tuple[NDArray[np.float64], ...] = field(repr=False)
    random: Callable[[int], bytes] = secrets.token_bytes

    def share(self, permission: Permission, seed: bytes) -> GuardianShare:
        """As `Ballots.share`."""
        prover = Prover(
            [part.layout for part in self.parts],
            [part.counts(votes) for part, votes in zip(self.parts, self.votes, strict=True)],
            context_of(*permission.key, permission.participant.site),
            seed,
            self.random(SEED_BYTES),
        )
        rows, width = self.votes[0].shape
        querier = permission.grant.querier
        return GuardianShare(*permission.key, rows, width, prover.guardian_share, prover, querier)
