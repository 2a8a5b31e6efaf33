"""A light party: it has an identity, a connection of its own and honest ballots, but no teachers."""

from dataclasses import dataclass

import grpc
import numpy as np
from numpy.typing import NDArray

from benchmarks.load.federation import GUARDIAN, Guardian
from benchmarks.load.meter import Cost
from ostraka.common.identity import Credentials
from ostraka.common.plan.plan import Plan
from ostraka.common.plan.schedules import read_schedule
from ostraka.common.rpc import open_channel
from ostraka.common.sharing.shares import fresh_seed, split
from ostraka.common.verified.parts import context_of, parts_of
from ostraka.common.verified.prover import Prover
from ostraka.common.wire.contexts import MANIFEST_CONTEXT
from ostraka.protos.ostraka.v1 import common_pb2, guardian_pb2
from ostraka.protos.ostraka.v1.guardian_pb2_grpc import GuardianStub
from ostraka.services.voting.submission import GuardianShare

TEACHERS = 2  # the minimum: predictions are not measured
RECORDS = 200
"""Number of records that every party declares: they bound a verified sum."""
CALL_S = 300.0
GROUP = "all"


def ballots(queries: int, classes: int) -> np.ndarray:
    """Return the votes of every party's teachers, one class per query: int64 (queries, classes)."""
    votes = np.zeros((queries, classes), dtype=np.int64)
    votes[np.arange(queries), np.arange(queries) % classes] = TEACHERS
    return votes


@dataclass
class Batch:
    """A batch that all parties vote on.

    Attributes:
        plan: of its session.
        ticket: as the guardian signed it.
        cost: of the calls that submit ballots.
    """

    plan: Plan
    ticket: common_pb2.Ticket
    cost: Cost

    def __post_init__(self) -> None:
        """Index the parties' schedules by name."""
        self.schedules = {one.participant.site: one for one in self.ticket.schedule}


class LightParty:
    """Registers, and submits its ballots to a guardian itself."""

    def __init__(self, credentials: Credentials, guardian: Guardian, by: str = "") -> None:
        """Take its identity, the guardian where it registers, and its agent's address if it uses one."""
        self.site = credentials.identity.site
        self._credentials = credentials
        self._channels: dict[str, grpc.Channel] = {}
        self._home = guardian
        self._by = by

    def register(self, task_digest: bytes, cost: Cost) -> None:
        """Declare its teachers."""
        manifest = common_pb2.Manifest(
            site=self.site,
            task_digest=task_digest,
            groups=[common_pb2.Group(name=GROUP, records=RECORDS, teachers=TEACHERS, copies=1)],
            max_votes_per_person=1,
            training="load",
        )
        signed = self._credentials.sign(MANIFEST_CONTEXT, manifest.SerializeToString())
        request = guardian_pb2.RegisterRequest(manifest=signed)
        stub = self.stub(self._home)
        cost.time(
            lambda: stub.Register(request, timeout=CALL_S),
            sent=request.ByteSize(),
            received=guardian_pb2.RegisterReply.ByteSize,
        )

    def vote(self, batch: Batch, guardian: Guardian) -> bytes:
        """Submit its share of a batch, prove it if the plan says so, and return the other share's seed."""
        seed = fresh_seed()
        votes = ballots(batch.ticket.size, batch.plan.classes)
        share = self.share(batch, votes.astype(np.float64), seed)
        stub = self.stub(guardian)
        message = share.message()
        reply = batch.cost.time(
            lambda: stub.SubmitBallotsWhole(message, timeout=CALL_S),
            sent=message.ByteSize(),
            received=guardian_pb2.SubmitBallotsReply.ByteSize,
        )
        if share.prover is not None:
            proof = share.proof_message(share.prover.prove(reply.challenge))
            stub.SubmitProofWhole(proof, timeout=CALL_S)
            batch.cost.sent += proof.ByteSize()
        return seed

    def share(self, batch: Batch, votes: NDArray[np.float64], seed: bytes) -> GuardianShare:
        """Return the guardian's share of its votes, or of a sum, (queries, width), in the plan's format."""
        plan = batch.plan
        ticket = batch.ticket
        key = ticket.session_id, ticket.batch_id
        rows, width = votes.shape
        if plan.ballots == "unverified":
            data = plan.modulus.to_bytes(split(votes, seed, plan.modulus))
            return GuardianShare(*key, rows, width, data)
        schedule = batch.schedules[self.site]
        parts = parts_of(plan, schedule.participant, read_schedule(schedule, ticket.size))
        counts = [part.counts(votes) for part in parts]
        layouts = [part.layout for part in parts]
        prover = Prover(layouts, counts, context_of(*key, self.site), seed, fresh_seed())
        return GuardianShare(*key, rows, width, prover.guardian_share, prover)

    def close(self) -> None:
        """Close its connections."""
        for channel in self._channels.values():
            channel.close()

    def stub(self, guardian: Guardian) -> GuardianStub:
        """Return calls to a guardian."""
        return GuardianStub(self.channel(guardian))

    def channel(self, guardian: Guardian) -> grpc.Channel:
        """Return its connection to a guardian, opened on first use."""
        if guardian.address not in self._channels:
            self._channels[guardian.address] = open_channel(
                self._credentials, self._by or guardian.address, GUARDIAN
            )
        return self._channels[guardian.address]
