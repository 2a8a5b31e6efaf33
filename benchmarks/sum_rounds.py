"""Cost of a round of sums: `python -m benchmarks.sum_rounds --parties 50 --features 64,784`.

Parties are threads of this process, each with its own records, certificates and TLS connection; the guardian
is a process, with its noise and its ledger. Seconds are from the ticket to the released sum.
"""

import secrets
import tempfile
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console
from rich.table import Table

from benchmarks.load.federation import GUARDIAN, Federation, Guardian, call
from benchmarks.load.meter import Cost, Meter
from benchmarks.load.party import CALL_S, GROUP, RECORDS, Batch, LightParty
from ostraka.client.peers.guardian_peer import GuardianPeer
from ostraka.client.peers.retry import Retry
from ostraka.client.session.batch import Granted, Ticketed
from ostraka.client.session.permissions import Permissions
from ostraka.client.session.summed_rounds import SeededShares, Summing
from ostraka.client.session.votes import CollectedShares, share_verified
from ostraka.common.clock import SystemClock
from ostraka.common.console.cli import run, write_json
from ostraka.common.identity import Credentials
from ostraka.common.mechanism import Moments
from ostraka.common.plan.choices import BALLOTS
from ostraka.common.plan.fields import DIGEST_BYTES, NONCE_BYTES, VERIFIED_BITS
from ostraka.common.plan.limits import MAX_VERIFIED_VALUES
from ostraka.common.plan.plan import Plan
from ostraka.common.rpc import open_channel
from ostraka.common.rpc.redirect import Replicas
from ostraka.common.rpc.shares import ShareSender
from ostraka.common.sharing import FRACTION_BITS
from ostraka.common.sharing.shares import fresh_seed
from ostraka.common.sums.codes import ClassCodes
from ostraka.common.sums.feature_map import FeatureMap
from ostraka.common.sums.questions import MomentsQuestion, Rows, sum_steps
from ostraka.deploy.simulation.processes import fresh
from ostraka.protos.ostraka.v1 import admin_pb2
from ostraka.protos.ostraka.v1.admin_pb2_grpc import AdminStub

CLASSES = 10  # of digits, which determine the codes
CALLERS = 8
"""Number of parties that call at the same time."""
TASK = bytes(DIGEST_BYTES)
POLICY = 'mechanisms = ["sums"]'
EPSILON = 1e5  # so large that sessions never end early
SIGMA = 20.0
WIDTH = 120  # characters of the table


@dataclass(frozen=True)
class SummingParty:
    """A party that sums over its own records, and submits the guardian's share itself."""

    light: LightParty
    rows: Rows
    sender: ShareSender

    def add_up(self, question: MomentsQuestion, batch: Batch, guardian: Guardian) -> bytes:
        """Return the seed of the querying party's share once the guardian has the other one, and its
        proof."""
        steps = np.concatenate(sum_steps(question, self.rows, FRACTION_BITS))
        seed = fresh_seed()
        share = self.light.share(batch, np.ldexp(steps.astype(np.float64), -FRACTION_BITS)[None], seed)
        stub = self.light.stub(guardian)
        reply = self.sender.send(
            self.light.channel(guardian),
            len(share.data),
            whole=lambda: stub.SubmitBallotsWhole(share.message(), timeout=CALL_S),
            stream=lambda: stub.SubmitBallots(share.messages(), timeout=CALL_S),
        )
        if share.prover is not None:
            proof = share.prover.prove(reply.challenge)
            stub.SubmitProofWhole(share.proof_message(proof), timeout=CALL_S)
        batch.cost.sent += len(share.data)
        return seed


def measure(parties: int, features: int, ballots: BALLOTS, *, gram: bool) -> dict[str, Any]:
    """Return seconds, bytes and memory of a round of moments, and check every answer."""
    random = np.random.default_rng(0)
    feature_map = FeatureMap(np.full(features, 0.5), np.sqrt(features) / 2)
    question = MomentsQuestion(feature_map, ClassCodes(np.eye(CLASSES) - 1 / CLASSES), gram=gram)
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        federation = Federation(Path(folder), parties, POLICY)
        pool = stack.enter_context(ThreadPoolExecutor(CALLERS))
        (guardian,) = stack.enter_context(federation.guardians([""], fresh))
        members = {
            credentials.identity.site: SummingParty(
                LightParty(credentials, guardian), _rows(random, features), ShareSender()
            )
            for credentials in federation.parties
        }
        for member in members.values():
            stack.callback(member.light.close)
        _register(federation, guardian, members, pool)
        before_mb = guardian.peak_mb
        rounds = [_ask(federation, guardian, members, question, ballots, pool) for _ in range(2)]
        return {
            "parties": parties,
            "features": features,
            "gram": gram,
            "values": sum(question.widths),
            "ballots": ballots,
            **rounds[-1],
            "guardian_more_mb": guardian.peak_mb - before_mb,
        }


def _rows(random: np.random.Generator, features: int) -> Rows:
    X = random.random((RECORDS, features)).astype(np.float32)
    return Rows(X[:, :0], X, random.integers(CLASSES, size=RECORDS))


def _register(
    federation: Federation, guardian: Guardian, members: Mapping[str, SummingParty], pool: Executor
) -> None:
    meter = Meter([guardian])
    with meter.measure("Register") as cost:
        list(pool.map(lambda member: member.light.register(TASK, cost), members.values()))
    with call(federation.admin, guardian) as channel:
        for site in members:
            AdminStub(channel).SetBudget(
                admin_pb2.SetBudgetRequest(
                    party=site, group=GROUP, adjacency="record", epsilon=EPSILON, delta=1e-5
                )
            )


def _ask(
    federation: Federation,
    guardian: Guardian,
    members: Mapping[str, SummingParty],
    question: MomentsQuestion,
    ballots: BALLOTS,
    pool: Executor,
) -> dict[str, float]:
    """Do one round in a separate session."""
    columns = question.map.columns
    plan = Plan(
        nonce=secrets.token_bytes(NONCE_BYTES),
        task_digest=TASK,
        classes=CLASSES,
        mechanism=Moments(
            columns=columns, codes=CLASSES, sigma=SIGMA, gram_sigma=SIGMA if question.gram else None
        ),
        parties=tuple(members),
        quorum=len(members),
        queries=1,
        batch_size=1,
        ring_bits=VERIFIED_BITS[1] if ballots == "verified" else 64,
    )
    connect = partial(open_channel, federation.querier, expected=GUARDIAN)
    replicas = Replicas(connect, guardian.address)
    try:
        peer = GuardianPeer(replicas, Retry(attempts=1))
        sent = plan.serialize()
        permissions = Permissions(federation.querier, GUARDIAN, SystemClock())
        signed = peer.open_session(sent).grant
        granted = Granted(sent, plan, signed, permissions.grant(signed, sent))
        processor = guardian.seconds_at_rest()
        start = time.perf_counter()
        own = time.process_time()
        signed = peer.open_batch(granted.grant.session_id, 1, 1, ())
        ticket = permissions.ticket(signed, granted.grant, batch_id=1, size=1, quorum=plan.quorum)
        batch = Batch(plan, ticket, Cost("SubmitBallots"))
        callers = pool.map(lambda one: one.add_up(question, batch, guardian), members.values())
        seeds = dict(zip(members, callers, strict=True))
        votes = _collect(granted, Ticketed(signed, ticket), seeds, federation.querier)
        if votes.verification is not None:
            refused = peer.verify_ballots(votes.verification)
            assert not refused, "all are honest"
        frozen, _ = peer.prepare(granted.grant.session_id, 1, sorted(seeds), votes.row_sums)
        total = votes.total(frozen, plan.modulus)
        found = Summing(peer, granted).answers(1, total, question)
        seconds = time.perf_counter() - start
        own = time.process_time() - own
        processor = guardian.seconds_at_rest() - processor
    finally:
        replicas.close()
    wanted = sum(np.concatenate(sum_steps(question, one.rows, FRACTION_BITS)) for one in members.values())
    off = np.abs(found - wanted).max() / (SIGMA * 2**FRACTION_BITS)
    assert off < 8, "a value is farther off than noise carries it"
    share_bytes = batch.cost.sent / len(members)
    return {"seconds": seconds, "guardian_s": processor, "others_s": own, "share_bytes": share_bytes}


def _collect(
    granted: Granted, ticket: Ticketed, seeds: Mapping[str, bytes], querier: Credentials
) -> CollectedShares:
    """Return the querying party's shares, and what the guardian needs to check proofs."""
    plan = granted.plan
    if plan.ballots == "verified":
        return share_verified(granted, ticket, seeds, querier, secrets.token_bytes)
    width = plan.mechanism.width(plan.classes)
    return CollectedShares(SeededShares(seeds, width, plan.modulus), {})


app = typer.Typer(add_completion=False)


@app.command()
def main(
    parties: Annotated[int, typer.Option(help="How many add up.")] = 50,
    features: Annotated[str, typer.Option(help="Of a record, one case each.")] = "64,784",
    json: Annotated[str | None, typer.Option(help="File for everything measured; - is stdout.")] = None,
) -> None:
    """Measure rounds of moments without and with the Gram matrix, verified where they can be and not."""
    measured = [
        measure(parties, number, ballots, gram=gram)
        for number in map(int, features.split(","))
        for gram in (False, True)
        for ballots in _kinds(number, gram=gram)
    ]
    table = Table(
        "features",
        "Gram",
        "values",
        "ballots",
        "a share",
        "seconds",
        "guardian's processor",
        "everybody else's",
        "guardian's memory, more",
    )
    for one in measured:
        table.add_row(
            str(one["features"]),
            "yes" if one["gram"] else "no",
            f"{one['values']:,}",
            one["ballots"],
            f"{one['share_bytes']:,.0f} B",
            f"{one['seconds']:.2f}",
            f"{one['guardian_s']:.2f} s",
            f"{one['others_s']:.2f} s",
            f"{one['guardian_more_mb']:.0f} MB",
        )
    Console(stderr=json == "-", width=WIDTH).print(table)
    write_json(measured, json)


def _kinds(features: int, *, gram: bool) -> Sequence[BALLOTS]:
    """Return how sums of `features` features can be asked for."""
    columns = features + 1
    mechanism = Moments(columns=columns, codes=CLASSES, sigma=SIGMA, gram_sigma=SIGMA if gram else None)
    verifiable = mechanism.width(CLASSES) <= MAX_VERIFIED_VALUES
    return ("unverified", "verified") if verifiable else ("unverified",)


if __name__ == "__main__":
    run(app)
