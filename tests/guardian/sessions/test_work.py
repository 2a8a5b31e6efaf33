"""What a release does is the same whatever the sums are, so that no time it takes can tell them.

By a clock that counts work (`WorkClock`), exactly: for every mechanism, sums that ballots make and sums that
none do, votes of one mind and votes that are spread, one release at a time and eight at once.
"""

import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from ostraka.common.crypto.tally_circuits import check_of
from ostraka.common.mechanism import (
    L1,
    Binary,
    Bins,
    Boost,
    Check,
    Confident,
    DistributedGnMax,
    DpTtac,
    GnMax,
    Gradients,
    Interactive,
    LnMax,
    Mechanism,
    Moments,
    NoiseCluster,
    Powerset,
    RandRes,
    RandResLabels,
    Recipe,
    RecordSums,
    Statistics,
    Tau,
    Ttac,
)
from ostraka.common.plan.choices import ENFORCE
from ostraka.common.plan.plan import Plan
from ostraka.common.sharing.ring import Ring
from ostraka.guardian.blind.blind_tally import BlindTally
from ostraka.guardian.noise import ExactNoise
from ostraka.guardian.sessions.coordinator import Coordinator
from ostraka.guardian.sessions.outcome import tally
from ostraka.guardian.sessions.payers import payers
from ostraka.protos.ostraka.v1 import common_pb2
from tests.guardian.federation import PARTIES, Calls, Federation, plan
from tests.guardian.sessions.people import budget, cohort, everybody
from tests.guardian.sessions.work import WorkClock

VOTE = 2**16
TEACHERS = 30
QUERIES, CLASSES = 4, 4
RING = Ring(64)
Sums = NDArray[np.int64]

CHECK = Check(sigma=0.1, threshold=0.001)
RECIPE = Recipe(model="mlp", parameters=7, steps=1, batch_size=1, learning_rate=0.1)
MECHANISMS: list[Mechanism] = [
    GnMax(sigma=3),
    DistributedGnMax(sigma=3, honest=1),
    Confident(sigma1=0.1, sigma2=1, threshold=0.001),
    Interactive(sigma1=0.1, sigma2=1, threshold=0.001, confidence=0.9),
    LnMax(gamma=0.2),
    Binary(sigma=3),
    Binary(sigma=3, check=CHECK),
    Tau(sigma=3, tau=1.2),
    Tau(sigma=3, tau=1.2, check=CHECK),
    L1(sigma=3, tau1=1.5, check=CHECK),
    Powerset(sigma=3),
    Powerset(sigma=3, max_positives=2, check=CHECK),
    NoiseCluster(sigma=3),
    RandRes(epsilon=1.0),
    RandResLabels(epsilon=1.0),
    DpTtac(recipe=RECIPE, radius=1.0, sigma=3.0),
    Ttac(recipe=RECIPE),
    Moments(columns=3, codes=2, sigma=3.0, gram_sigma=3.0),
    Bins(columns=3, codes=2, sigma=3.0),
    Boost(bins=4, outputs=2, sigma=3.0),
    Gradients(parameters=6, sigma=3.0),
    Statistics(cells=6, columns=2, sigma=3.0),
]
BLIND = [mechanism for mechanism in MECHANISMS if mechanism.blind and mechanism.kind not in ("tau", "l1")]
AT_ONCE = 8


def named(mechanism: Mechanism) -> str:
    return f"{mechanism.kind}{'-checked' if getattr(mechanism, 'check', None) else ''}"


def sums(width: int) -> dict[str, Sums]:
    """Return what a batch may add up to, in votes times 2^16, no matter who made it so."""
    one_mind = np.zeros((QUERIES, width), dtype=np.int64)
    one_mind[:, 1] = TEACHERS * VOTE
    spread = np.full((QUERIES, width), TEACHERS * VOTE // width)
    spread[:, 0] += TEACHERS * VOTE - spread.sum(axis=1)
    below = one_mind.copy()
    below[:, 1] += VOTE
    below[:, 0] -= VOTE
    random = np.random.default_rng(1).integers(1, 2**62, (QUERIES, width))
    return {"of one mind": one_mind, "spread": spread, "below zero": below, "random": random}


def plan_of(mechanism: Mechanism) -> Plan:
    queries = 1 if isinstance(mechanism, Ttac | DpTtac | RecordSums) else QUERIES
    return Plan(
        nonce=bytes(16),
        task_digest=bytes(32),
        classes=CLASSES,
        mechanism=mechanism,
        parties=("a", "b"),
        quorum=2,
        queries=queries,
        batch_size=queries,
        multi_label=mechanism.multi_label,
        ring_bits=64,
        adjacency=mechanism.adjacencies[0],
    )


def work_of(mechanism: Mechanism, released: Sums, enforce: ENFORCE = "worst_case") -> int:
    """Count what `tally` does, and nothing that it leaves for later."""
    asked = plan_of(mechanism)
    attendance = everybody([cohort("a", "all", 20), cohort("b", "all", 10)], asked.queries)
    units = {key for one in attendance.cohorts for key in one.payers(asked.adjacency)}
    charged = payers(asked, attendance, {key: budget(*key, enforce=enforce) for key in units})
    scores = np.zeros((QUERIES, CLASSES), dtype=np.int64) if isinstance(mechanism, Interactive) else None
    total = RING.wrap(released[: asked.queries])
    with WorkClock(tally) as clock:
        tally(asked, total, scores, charged, attendance, ExactNoise(), "exact")
    (work,) = clock.charged
    return work


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=named)
def test_the_same_is_done_whatever_the_sums_are(mechanism: Mechanism) -> None:
    released = sums(mechanism.width(CLASSES))
    work_of(mechanism, released["spread"])
    assert len({work_of(mechanism, each) for each in released.values()}) == 1


@pytest.mark.parametrize("mechanism", [GnMax(sigma=3), Powerset(sigma=3), Binary(sigma=3)], ids=named)
def test_the_clock_tells_sums_apart_where_budgets_are_held_to_data_dependent_costs(
    mechanism: Mechanism,
) -> None:
    released = sums(mechanism.width(CLASSES))
    work_of(mechanism, released["spread"], "data_dependent")
    work = {work_of(mechanism, released[kind], "data_dependent") for kind in ("of one mind", "below zero")}
    assert len(work) == 2


def blind_work_of(mechanism: Mechanism, half: Sums) -> list[int]:
    """Count what beginning each stage of a blind tally does, every query having passed."""
    stages = [common_pb2.STAGE_CHECK] * (check_of(mechanism, CLASSES, Ring(32)) is not None)
    tallied = BlindTally(
        plan=plan_of(mechanism).model_copy(update={"ring_bits": 32}),
        session_id="s",
        batch_id=1,
        sums=np.asarray(Ring(32).wrap(half), dtype=np.uint32),
        totals=np.full(QUERIES, TEACHERS * VOTE),
        noise=ExactNoise(),
        passed=np.ones((QUERIES, mechanism.answers(CLASSES)), dtype=np.bool_),
    )
    with WorkClock(BlindTally.begin) as clock:
        for stage in [*stages, common_pb2.STAGE_ANSWERS]:
            tallied.begin(stage)
    return clock.charged


@pytest.mark.parametrize("mechanism", BLIND, ids=named)
def test_a_blind_tally_does_the_same_whatever_its_half_is(mechanism: Mechanism) -> None:
    released = sums(mechanism.width(CLASSES))
    blind_work_of(mechanism, released["spread"])
    first, *others = [blind_work_of(mechanism, each) for each in released.values()]
    assert first
    assert all(other == first for other in others)


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Calls, WorkClock]]:
    """Yield a guardian whose sessions ask for exact figures, and what counts the cost of each release."""
    folder = tmp_path_factory.mktemp("served")
    clock = WorkClock(Coordinator.release)
    policy = 'bound = "exact"\nmin_sigma = 0.05\nmin_quorum = 2\n'
    with clock, Federation(folder, policy=policy).guardian() as calls:
        calls.prepare_all(1e6)
        yield calls, clock


_OPENED = iter(range(2**32))


@pytest.mark.heavy
@pytest.mark.parametrize("mechanism", [GnMax(sigma=3), Powerset(sigma=3)], ids=named)
def test_one_release_and_eight_at_once_do_the_same_for_any_sum(
    served: tuple[Calls, WorkClock], mechanism: Mechanism
) -> None:
    calls, clock = served
    released = sums(mechanism.width(CLASSES))
    release_at_once(calls, mechanism, [released["spread"]])
    clock.charged.clear()
    apart = ["of one mind", "below zero"]
    for each in (released[kind] for kind in apart):
        release_at_once(calls, mechanism, [each])
        release_at_once(calls, mechanism, [each] * AT_ONCE)
    assert len(clock.charged) == len(apart) * (1 + AT_ONCE)
    assert len(set(clock.charged)) == 1


def release_at_once(calls: Calls, mechanism: Mechanism, wanted: list[Sums]) -> None:
    """Batches that add up to what is wanted, sent at the same time, each in a session of its own."""
    width = mechanism.width(CLASSES)
    nothing = np.zeros((len(PARTIES), QUERIES, width), dtype=np.int64)
    jobs: list[tuple[str, Any]] = []
    for each in wanted:
        asked = plan(
            nonce=next(_OPENED).to_bytes(16),
            classes=CLASSES,
            mechanism=mechanism,
            multi_label=mechanism.multi_label,
            queries=QUERIES,
            batch_size=QUERIES,
        )
        session = calls.open(asked).session_id
        calls.ticket(session, 1, QUERIES)
        jobs.append((session, calls.vote(session, 1, nothing) + RING.wrap(each)))
    threads = [threading.Thread(target=calls.answers, args=(session, 1, total)) for session, total in jobs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
