"""A session of a querying party with a guardian, in which light parties vote."""

import asyncio
from collections.abc import Mapping
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import partial
from typing import cast

import numpy as np

from benchmarks.load.federation import GUARDIAN, Guardian
from benchmarks.load.meter import Meter
from benchmarks.load.party import Batch, LightParty, ballots
from ostraka.client.peers.guardian_peer import GuardianPeer
from ostraka.client.peers.party_peer import VoteBatch, Voter
from ostraka.client.peers.retry import Retry
from ostraka.client.session.batch import Granted, Peers, Queries, Ticketed
from ostraka.client.session.permissions import Permissions
from ostraka.client.session.protocols import Switches
from ostraka.common.clock import SystemClock
from ostraka.common.identity import Credentials
from ostraka.common.plan.plan import Plan
from ostraka.common.rpc import open_channel
from ostraka.common.rpc.redirect import Replicas
from ostraka.protos.ostraka.v1 import common_pb2, guardian_pb2

BATCHES = 2  # the first also includes a session's one-time costs
SignedList = common_pb2.SignedList


@dataclass(frozen=True)
class _Asked:
    """A light party as a session asks it: it needs no queries."""

    party: LightParty
    batch: Batch
    guardian: Guardian
    pool: Executor

    async def vote(self, _: VoteBatch) -> bytes:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self.pool, self.party.vote, self.batch, self.guardian)


@dataclass(frozen=True)
class Querier:
    """A querying party with its connection to one guardian."""

    credentials: Credentials
    guardian: Guardian
    meter: Meter

    def ask(self, plan: Plan, parties: Mapping[str, LightParty], pool: Executor) -> None:
        """Open a session, let all parties vote on its batches, and check every answer."""
        connect = partial(open_channel, self.credentials, expected=GUARDIAN)
        replicas = Replicas(connect, self.guardian.address)
        try:
            self._ask(GuardianPeer(replicas, Retry(attempts=1)), plan, parties, pool)
        finally:
            replicas.close()

    def _ask(
        self, guardian: GuardianPeer, plan: Plan, parties: Mapping[str, LightParty], pool: Executor
    ) -> None:
        sent = plan.serialize()
        permissions = Permissions(self.credentials, GUARDIAN, SystemClock())
        with self.meter.measure("OpenSession") as cost:
            reply = cost.time(
                lambda: guardian.open_session(sent),
                sent=len(sent),
                received=guardian_pb2.OpenSessionReply.ByteSize,
            )
        signed = reply.grant
        granted = Granted(sent, plan, signed, permissions.grant(signed, sent))
        for number in range(BATCHES):
            with self.meter.measure("OpenBatch") as cost:
                ticket = cost.time(
                    partial(guardian.open_batch, granted.grant.session_id, number, plan.batch_size, ()),
                    received=SignedList.ByteSize,
                )
            read = permissions.ticket(
                ticket, granted.grant, batch_id=number, size=plan.batch_size, quorum=plan.quorum
            )
            self._batch(guardian, permissions, granted, Ticketed(ticket, read), parties, pool)

    def _batch(
        self,
        guardian: GuardianPeer,
        permissions: Permissions,
        granted: Granted,
        ticket: Ticketed,
        parties: Mapping[str, LightParty],
        pool: Executor,
    ) -> None:
        plan = granted.plan
        key = (ticket.read.session_id, ticket.read.batch_id)
        queries = Queries(np.zeros((ticket.read.size, 1), dtype=np.float32))
        with self.meter.measure("SubmitBallots") as cost:
            batch = Batch(plan, ticket.read, cost)
            asked = {site: _Asked(party, batch, self.guardian, pool) for site, party in parties.items()}
            peers = Peers(guardian, cast("Mapping[str, Voter]", asked), {}, permissions, pool)
            votes = Switches().voting(peers, granted).collect(ticket, queries)
        assert not votes.failures, next(iter(votes.failures.values()))
        if votes.verification is not None:
            verification = votes.verification
            with self.meter.measure("VerifyBallots") as cost:
                cost.time(
                    lambda: guardian.verify_ballots(verification),
                    sent=sum(message.ByteSize() for message in verification.messages()),
                    received=len,
                )
        held = sorted(votes.shares)
        with self.meter.measure("Prepare") as cost:
            frozen, refused = cost.time(
                lambda: guardian.prepare(*key, held, votes.row_sums),
                sent=sum(map(len, held)),
                received=lambda reply: sum(map(len, reply[0])),
            )
        assert set(frozen) == set(parties), "a party is missing"
        assert not refused, "honest ballots are refused"
        total = votes.total(frozen, plan.modulus)
        with self.meter.measure("Release" if plan.tally == "aggregate" else "blind tally") as cost:
            tally = Switches().tally(peers, granted)
            answers = cost.time(
                lambda: tally.answers(key[1], total, queries), sent=total.nbytes, received=len
            )
        voted = ballots(ticket.read.size, plan.classes).argmax(axis=1)
        assert answers == voted.tolist(), "an answer is not what all parties voted for"
