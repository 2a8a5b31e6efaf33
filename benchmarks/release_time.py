"""Whether the time of a release reveals votes: 20 votes for a class compared with 19, for an offset of 20.

A querying party asks the same query in every row and sends sums with an offset of 20 votes, so the sum stays
within the range of ballots if 20 were cast, but not if 19 were. If costs of votes were computed before
answers are sent, it could infer the count from the time. A guardian over TLS on loopback; the columns must
agree.
"""

import hashlib
import secrets
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import grpc
import numpy as np
from numpy.typing import NDArray

from ostraka.common.config import SITE_FILE, load_site, write_site
from ostraka.common.identity import Credentials, Identity, Role
from ostraka.common.mechanism import GnMax
from ostraka.common.plan.plan import Plan
from ostraka.common.rpc import open_channel
from ostraka.common.sharing import shares
from ostraka.common.sharing.fixed_point import encode
from ostraka.common.sharing.ring import Ring, RingArray
from ostraka.common.wire.contexts import MANIFEST_CONTEXT
from ostraka.deploy.provisioning import provision
from ostraka.guardian.serving.server import running
from ostraka.protos.ostraka.v1 import admin_pb2, admin_pb2_grpc, common_pb2, guardian_pb2, guardian_pb2_grpc

PARTIES = ("alpha", "beta", "gamma")
TEACHERS = 10  # of each of three parties
CLASSES = 30  # many, so costs of votes take long
QUERIES = 300  # more take longer, and give more power
OFFSET = 20  # added and removed: sums wrap around, as shares do
TASK = bytes(32)
RING = Ring(64)
SIGMA = 1000.0  # so large that every answer costs almost nothing
EPSILON = 2.0  # waves do not exhaust it
COUNTS = (20, 19)
TRIALS = 2  # pairs of waves
MAX_LONGER_SHARE = 0.9
"""Maximum fraction of pairs in which one column takes longer: about half if time reveals nothing; all of them
when costs of votes were computed before the answers.
"""
ROWS = (("worst_case", 1, 1), ("worst_case", 8, 1), ("exact", 8, 2))
"""Bound, number of simultaneous releases, and of waves. Only the last wave is timed: deferred work of a wave
may slow the next.
"""


@dataclass(frozen=True)
class Members:
    """Stubs of a guardian's members, and the parties' credentials."""

    parties: dict[str, tuple[Credentials, guardian_pb2_grpc.GuardianStub]]
    query: guardian_pb2_grpc.GuardianStub
    admin: admin_pb2_grpc.AdminStub


def main() -> None:
    """Print the median and range of seconds for both counts; exit with status 1 if they disagree."""
    disagree = False
    for bound, at_once, waves in ROWS:
        times: dict[int, list[float]] = {count: [] for count in COUNTS}
        for _ in range(TRIALS):
            for count in COUNTS:
                times[count] += trial(count, bound, at_once, waves)
        columns = ", ".join(f"{count} votes {_summary(times[count])}" for count in COUNTS)
        longer = _longer(times[COUNTS[0]], times[COUNTS[1]])
        disagree = disagree or not 1 - MAX_LONGER_SHARE <= longer <= MAX_LONGER_SHARE
        after = f" after {waves - 1} such" if waves > 1 else ""
        print(f"release time, bound {bound}, {at_once} at once{after}: {columns}; first longer {longer:.0%}")
    if disagree:
        sys.exit(1)


def trial(count: int, bound: str, at_once: int, waves: int) -> list[float]:
    """Return seconds of the last wave's releases; each has `count` votes for class 0 in every row."""
    with tempfile.TemporaryDirectory() as folder, guardian(Path(folder) / "federation", bound) as members:
        batches = [[_batch(members, count) for _ in range(at_once)] for _ in range(waves)]
        time.sleep(2.0)
        for wave in batches:
            took = _release(members, wave)
            time.sleep(2.0)
        return took


@contextmanager
def guardian(folder: Path, bound: str) -> Iterator[Members]:
    """Run a guardian with registered parties that have budgets."""
    made = provision("time", PARTIES, "query", folder, base_port=0)
    write_site(load_site(made.guardian))
    with (made.guardian / SITE_FILE).open("a") as file:
        file.write(f'\n[policy]\nbound = "{bound}"\n')
    with running(made.guardian) as address, ExitStack() as stack:

        def channel(site: Path) -> tuple[Credentials, grpc.Channel]:
            own = Credentials.of(load_site(site))
            opened = open_channel(own, address, Identity("time", "guardian", Role.GUARDIAN))
            stack.callback(opened.close)
            return own, opened

        parties = {}
        for name, site in made.parties.items():
            own, opened = channel(site)
            parties[name] = own, guardian_pb2_grpc.GuardianStub(opened)
        members = Members(
            parties,
            guardian_pb2_grpc.GuardianStub(channel(made.query)[1]),
            admin_pb2_grpc.AdminStub(channel(made.admin)[1]),
        )
        _register(members)
        yield members


def _register(members: Members) -> None:
    for name, (own, stub) in members.parties.items():
        group = common_pb2.Group(name="all", records=100, teachers=TEACHERS, copies=1)
        manifest = common_pb2.Manifest(
            site=name, task_digest=TASK, groups=[group], max_votes_per_person=1, training="benchmark"
        )
        signed = own.sign(MANIFEST_CONTEXT, manifest.SerializeToString())
        stub.Register(guardian_pb2.RegisterRequest(manifest=signed))
        budget = admin_pb2.SetBudgetRequest(
            party=name, group="all", adjacency="record", epsilon=EPSILON, delta=1e-5
        )
        members.admin.SetBudget(budget)


def _batch(members: Members, count: int) -> tuple[str, RingArray]:
    """Open a session with a frozen batch; return it and the sum that a querying party sends for it."""
    plan = Plan(
        nonce=secrets.token_bytes(16),
        task_digest=TASK,
        classes=CLASSES,
        mechanism=GnMax(sigma=SIGMA),
        parties=PARTIES,
        quorum=2,
        queries=QUERIES,
        batch_size=QUERIES,
    )
    opened = members.query.OpenSession(guardian_pb2.OpenSessionRequest(plan=plan.serialize()))
    session = common_pb2.Grant.FromString(opened.grant.signed.payload).session_id
    members.query.OpenBatch(guardian_pb2.OpenBatchRequest(session_id=session, batch_id=1, size=QUERIES))
    halves = []
    for (_, stub), ballots in zip(members.parties.values(), _ballots(count), strict=True):
        share = shares.split(ballots, secrets.token_bytes(32), RING)
        halves.append(encode(ballots, RING) - share)
        header, data = _frame(session, share)
        sent = guardian_pb2.SubmitBallotsWholeRequest(header=guardian_pb2.BallotsHeader(**header), data=data)
        stub.SubmitBallotsWhole(sent)
    members.query.Prepare(
        guardian_pb2.PrepareRequest(session_id=session, batch_id=1, parties=list(members.parties))
    )
    total = RING.sum(halves)
    total[:, 0] -= np.uint64(OFFSET << 16)
    total[:, 1] += np.uint64(OFFSET << 16)
    return session, total


def _ballots(count: int) -> NDArray[np.int64]:
    """Return each party's ballots (parties, queries, classes): `count` in all for class 0, the others for
    2."""
    ballots = np.zeros((len(PARTIES), QUERIES, CLASSES), dtype=np.int64)
    for row in range(len(PARTIES)):
        own = min(TEACHERS, max(0, count - row * TEACHERS))
        ballots[row, :, 0] = own
        ballots[row, :, 2] = TEACHERS - own
    return ballots


def _release(members: Members, wave: list[tuple[str, RingArray]]) -> list[float]:
    """Return seconds from the first byte of each batch's sum to its last answer, all at the same time."""
    took: list[float] = []

    def release(session: str, total: RingArray) -> None:
        header, data = _frame(session, total)
        request = guardian_pb2.ReleaseWholeRequest(header=guardian_pb2.ReleaseHeader(**header), data=data)
        start = time.perf_counter()
        for _ in members.query.ReleaseWhole(request):
            pass
        took.append(time.perf_counter() - start)

    threads = [threading.Thread(target=release, args=batch) for batch in wave]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return took


def _frame(session: str, values: RingArray) -> tuple[dict[str, Any], bytes]:
    data = RING.to_bytes(values)
    rows, width = values.shape
    digest = hashlib.sha256(data).digest()
    header = {"session_id": session, "batch_id": 1, "rows": rows, "width": width, "sha256": digest}
    return header, data


def _longer(first: list[float], second: list[float]) -> float:
    """Return how often one of the first is above one of the second; ties count half."""
    apart = np.sign(np.subtract.outer(first, second))
    return float((apart + 1).mean() / 2)


def _summary(seconds: list[float]) -> str:
    return f"{np.median(seconds):.3f} s ({min(seconds):.3f} to {max(seconds):.3f})"


if __name__ == "__main__":
    main()
