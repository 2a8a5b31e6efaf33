"""Verified ballots of one batch: the parties' submissions, and which of them the guardian accepts."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.plan.plan import Plan
from ostraka.common.plan.schedules import read_schedule
from ostraka.common.sharing.modulus import RingArray
from ostraka.common.sharing.shares import SEED_BYTES
from ostraka.common.verified.attestation import share_digest
from ostraka.common.verified.evaluation import Point
from ostraka.common.verified.layout import Layout
from ostraka.common.verified.parts import AnyPart, context_of, join_ballots, parts_of
from ostraka.common.verified.verifier import Submission, accepts, count_shares
from ostraka.guardian.sessions.attestations import RefusedBallot
from ostraka.protos.ostraka.v1 import common_pb2


@dataclass(frozen=True)
class Verification:
    """The querying party's part of the proofs of a batch.

    Attributes:
        point_seed: of the evaluation point, 32 bytes.
        parties: by site, the commitment to the seed that it received, and its verifier share.
        evaluation: session, batch and point seed, as it signed them; None: no refusal is attested.
    """

    point_seed: bytes = field(repr=False)
    parties: Mapping[str, tuple[bytes, bytes]] = field(repr=False)
    evaluation: common_pb2.Signed | None = field(default=None, repr=False)

    @cached_property
    def sha256(self) -> bytes:
        """Digest that distinguishes it from any other verification."""
        told = hashlib.sha256(self.point_seed)
        for site, (commitment, share) in sorted(self.parties.items()):
            for part in (site.encode(), commitment, share):
                told.update(len(part).to_bytes(8, "big") + part)
        return told.digest()


@dataclass
class _Submitted:
    """One party's message, and the one challenge that it received for it."""

    submission: Submission = field(repr=False)
    challenge: bytes = field(repr=False)
    proof: bytes | None = field(default=None, repr=False)


class VerifiedBallots:
    """Ballots of a batch until the querying party has the guardian verify them, all together and once.

    A party gets one challenge for its submission, and the batch one evaluation point for all parties. Guard
    every use by the batch's lock. Nothing here leaves memory.

    Attributes:
        attestable: the evidence against refused ballots, by site, if parties can attest it.
    """

    def __init__(self, plan: Plan, ticket: common_pb2.Ticket, random: Callable[[int], bytes]) -> None:
        """Take a batch's session and ticket; `random` returns that many random bytes."""
        self._plan = plan
        self._ticket = ticket
        self._random = random
        self._submitted: dict[str, _Submitted] = {}
        self._verification: Verification | None = None
        self._accepted: dict[str, RingArray] = {}
        self._refused: list[str] = []
        self.attestable: dict[str, RefusedBallot] = {}
        self._schedules = {one.participant.site: one for one in ticket.schedule}
        self._parts: dict[str, tuple[AnyPart, ...]] = {}

    @property
    def verified(self) -> bool:
        """Whether ballots were verified; after that nothing more is accepted."""
        return self._verification is not None

    def layouts(self, site: str) -> list[Layout]:
        """Return the layouts of a ticket's party's proof."""
        return [part.layout for part in self._parts_of(site)]

    def message_sizes(self) -> dict[str, int]:
        """Return the bytes of the querying party's verifier share, by party of the ticket."""
        return {site: sum(layout.message_bytes for layout in self.layouts(site)) for site in self._schedules}

    def submit(self, site: str, submission: Submission) -> bytes:
        """Hold a party's submission, and return its challenge; the same content again gets the same.

        Raises:
            OstrakaError: `batch.altered` for other content, `batch.frozen` after ballots are verified.
        """
        kept = self._submitted.get(site)
        if kept is None:
            self._check_not_verified()
            kept = self._submitted[site] = _Submitted(submission, self._random(SEED_BYTES))
        elif kept.submission != submission:
            raise _other_content("ballots")
        return kept.challenge

    def prove(self, site: str, proof: bytes) -> None:
        """Hold a party's answer to its challenge.

        Raises:
            OstrakaError: `batch.out_of_order` before it submitted ballots, `batch.altered` if the proof
                differs from the first, `batch.frozen` after ballots are verified.
        """
        kept = self._submitted.get(site)
        if kept is None:
            raise OstrakaError(
                ErrorCode.BATCH_OUT_OF_ORDER, "A proof came before the ballots; send SubmitBallots first."
            )
        if kept.proof is None:
            self._check_not_verified()
            kept.proof = proof
        elif not hmac.compare_digest(kept.proof, proof):
            raise _other_content("proof")

    def verify(self, verification: Verification) -> tuple[dict[str, RingArray], list[str]]:
        """Return the shares of accepted ballots by site, (Q, width), and the sites of refused ones.

        Ballots are in neither list if either side lacks something of their party. The work does not depend on
        votes. The same content again gets the same result.

        Raises:
            OstrakaError: `batch.altered` if the content differs from the first.
        """
        if self._verification is not None:
            if self._verification.sha256 != verification.sha256:
                raise _other_content("verification")
            return self._accepted, self._refused
        point = Point(verification.point_seed)
        self._verification = verification
        for site, kept in sorted(self._submitted.items()):
            if kept.proof is not None and site in verification.parties:
                if self._accepts(site, kept, kept.proof, point, *verification.parties[site]):
                    self._accepted[site] = self._share(site, kept.submission)
                else:
                    self._refused.append(site)
                    self._hold_against(site, kept.submission, verification)
        self._submitted.clear()
        return self._accepted, self._refused

    def _accepts(
        self, site: str, kept: _Submitted, proof: bytes, point: Point, commitment: bytes, share: bytes
    ) -> bool:
        sent = kept.submission, kept.challenge, proof
        return accepts(self.layouts(site), self._context(site), *sent, point, commitment, share)

    def _hold_against(self, site: str, submission: Submission, verification: Verification) -> None:
        if verification.evaluation is not None:
            commitment, share = verification.parties[site]
            digest = share_digest(self.layouts(site), self._context(site), verification.point_seed, share)
            held = RefusedBallot(verification.evaluation, submission.commitment, commitment, digest)
            self.attestable[site] = held

    def _context(self, site: str) -> bytes:
        return context_of(self._ticket.session_id, self._ticket.batch_id, site)

    def _share(self, site: str, submission: Submission) -> RingArray:
        parts = self._parts_of(site)
        plan = self._plan
        shape = self._ticket.size, plan.mechanism.width(plan.classes)
        return join_ballots(parts, count_shares(self.layouts(site), submission), plan.modulus, shape)

    def _parts_of(self, site: str) -> tuple[AnyPart, ...]:
        """Return what a party proves, computed once: every call about it needs it again."""
        if site not in self._parts:
            schedule = self._schedules[site]
            self._parts[site] = parts_of(
                self._plan, schedule.participant, read_schedule(schedule, self._ticket.size)
            )
        return self._parts[site]

    def _check_not_verified(self) -> None:
        if self.verified:
            raise OstrakaError(
                ErrorCode.BATCH_FROZEN, "The ballots of this batch are verified; this came too late."
            )


def _other_content(what: str) -> OstrakaError:
    return OstrakaError(
        ErrorCode.BATCH_ALTERED,
        f"This batch already holds another {what} of yours; send the same bytes again.",
    )
