"""A batch of verified ballots between parties that may cheat, a querying party and a real guardian."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ostraka.client.peers.verification import Verification
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.identity import Role
from ostraka.common.mechanism import GnMax
from ostraka.common.noise import ExactNoise
from ostraka.common.plan.plan import Plan
from ostraka.common.plan.schedules import read_schedule
from ostraka.common.sharing.modulus import RingArray
from ostraka.common.verified.noised_parts import draw_bounded
from ostraka.common.verified.parts import AnyPart, context_of, join_ballots, parts_of
from ostraka.common.verified.querier import count_shares
from ostraka.protos.ostraka.v1 import common_pb2, guardian_pb2
from ostraka.services.voting.submission import GuardianShare
from tests.common.verified.ballots import CheatingProver
from tests.guardian.federation import PARTIES, TEACHERS, Calls, plan

SIZE = 20


def verified(**changes: Any) -> Plan:
    return plan(**{"ring_bits": 31, "mechanism": GnMax(sigma=1.0)} | changes)


def ledger_away(*_: object, **__: object) -> None:
    """Fail like a write to a ledger that is unavailable."""
    raise OstrakaError(ErrorCode.LEDGER_LOCKED, "The ledger is away.")


class Batch:
    """A running batch, with a prover for every party."""

    def __init__(self, calls: Calls, asked: Plan, size: int = SIZE) -> None:
        self.calls, self.plan = calls, asked
        self.shape = size, asked.mechanism.width(asked.classes)
        self.session = calls.open(asked).session_id
        self.ticket = calls.ticket(self.session, 1, size)
        self.parts: dict[str, tuple[AnyPart, ...]] = {}
        self.provers: dict[str, CheatingProver] = {}
        self.seeds: dict[str, bytes] = {}
        for one in self.ticket.schedule:
            site = one.participant.site
            self.parts[site] = parts_of(asked, one.participant, read_schedule(one, size))
            self.seeds[site] = secrets.token_bytes(32)
            self.provers[site] = self.prover(site, context_of(self.session, 1, site))

    def prover(self, site: str, context: bytes) -> CheatingProver:
        parts = self.parts[site]
        ballots = self.noised()
        counts = [part.counts(ballots) for part in parts]
        return CheatingProver(
            [part.layout for part in parts], counts, context, self.seeds[site], secrets.token_bytes(32)
        )

    def noised(self) -> NDArray[np.float64]:
        """Return the ballots that every party has, with its own noise if the plan requires it."""
        draws = self.plan.mechanism.party_draws(*self.shape)
        return self.honest() + draw_bounded(draws, ExactNoise()) if draws else self.honest()

    def honest(self) -> NDArray[np.float64]:
        """Return the ballots that every party has."""
        return self.ballots(2)

    def ballots(self, *columns: int) -> NDArray[np.float64]:
        """Return ballots in which every teacher has a whole vote in each of these columns."""
        ballots = np.zeros(self.shape)
        ballots[:, list(columns)] = TEACHERS
        return ballots

    def share(self, site: str) -> GuardianShare:
        prover = self.provers[site]
        querier = self.calls.credentials("q", Role.QUERY).identity.uri
        return GuardianShare(self.session, 1, *self.shape, prover.guardian_share, prover, querier)

    def submit(self, site: str) -> bytes:
        stub = self.calls.stub(site, Role.PARTY)
        return stub.SubmitBallots(self.share(site).messages()).challenge

    def prove(self, site: str, proof: bytes) -> None:
        self.calls.stub(site, Role.PARTY).SubmitProof(self.share(site).proof_messages(proof))

    def vote(self, *sites: str) -> None:
        for site in sites or PARTIES:
            self.prove(site, self.provers[site].prove(self.submit(site)))

    def verification(self, *sites: str) -> Verification:
        seeds = {site: self.seeds[site] for site in sites or PARTIES}
        return self.signed(Verification.of((self.session, 1), bytes(32), self.parts, seeds))

    def signed(self, verification: Verification) -> Verification:
        return verification.sign(self.calls.credentials("q", Role.QUERY))

    def verify(self, *sites: str) -> list[str]:
        return list(self.calls.query.VerifyBallots(self.verification(*sites).messages()).refused)

    def total(self, sites: Sequence[str]) -> RingArray:
        ring = self.plan.modulus
        return ring.sum(
            join_ballots(
                self.parts[site],
                count_shares(
                    [part.layout for part in self.parts[site]],
                    context_of(self.session, 1, site),
                    self.seeds[site],
                ),
                ring,
                self.shape,
            )
            for site in sites
        )

    def release(self, sites: Sequence[str]) -> list[tuple[bool, int]]:
        """Send the sum of the shares of these parties, and return the answers."""
        return [(answer.answered, answer.label) for reply in self.send(sites) for answer in reply.answers]

    def send(self, sites: Sequence[str]) -> list[guardian_pb2.ReleaseReply]:
        """Send the sum of the shares of these parties, and return the replies."""
        data = self.plan.modulus.to_bytes(self.total(sites))
        header = guardian_pb2.ReleaseHeader(
            session_id=self.session,
            batch_id=1,
            rows=self.shape[0],
            width=self.shape[1],
            sha256=hashlib.sha256(data).digest(),
        )
        parts = [
            guardian_pb2.ReleaseRequest(header=header),
            guardian_pb2.ReleaseRequest(chunk=common_pb2.Chunk(data=data)),
        ]
        return list(self.calls.query.Release(iter(parts)))

    def stuff(self, site: str, votes: int) -> None:
        """Move votes that the party does not have from one class to another, in the first query."""
        self.alter(site, votes, -votes)

    def alter(self, site: str, *changes: int) -> None:
        """Change a party's counts of the first classes in the first query, in which class 2 has all votes."""
        layout = self.parts[site][0].layout
        change = np.zeros(layout.writing.size, dtype=np.int64)
        change[: len(changes)] = changes
        self.provers[site].alter(change)

    def claim(self, site: str, steps: int) -> None:
        """Set one count of a party to this many steps and the others to 0, with matching digits."""
        (part,) = self.parts[site]
        counts = np.zeros(self.shape, np.int64)
        counts[0, 0] = steps
        prover = self.provers[site]
        prover.alter(part.layout.writing.write(counts) - prover._digits[0])

    def overstate(self, site: str, *columns: int) -> None:
        """Vote in all of these columns at once, with the digits that an honest party would write."""
        (part,) = self.parts[site]
        before, after = (
            part.layout.writing.write(part.counts(ballots)).astype(np.int64)
            for ballots in (self.ballots(2), self.ballots(*columns))
        )
        self.provers[site].alter(after - before)
