"""What is asked again: never the same queries in the same order, and among others where there are any."""

from collections import Counter
from math import factorial

import numpy as np
import pytest

from ostraka.client.peers.party_peer import Clusters
from ostraka.client.session.batch import compose
from ostraka.client.session.run_state import load_state
from ostraka.common.errors import ErrorCode
from ostraka.protos.ostraka.v1 import common_pb2
from tests.client.driving import options, run, run_of
from tests.client.federation import Federation, refuse

POOL, BATCH = 40, 20
DRAWS = 24_000


def test_a_batch_is_the_order_of_its_random_keys() -> None:
    keys = np.array([5, 2**63, 1, 9], np.uint64)
    assert compose([10, 20, 30, 40], 3, lambda size: keys.tobytes()[:size]) == [30, 10, 40]
    assert compose([7], 3, bytes) == [7]


@pytest.mark.heavy
def test_every_order_is_as_likely_as_any_other() -> None:
    """Chi-square over the 24 orders of 4 queries: above 90 for 23 degrees has p < 1e-9."""
    draws = np.random.default_rng(1)
    orders = Counter(tuple(compose(range(4), 4, draws.bytes)) for _ in range(DRAWS))
    expected = DRAWS / factorial(4)
    assert len(orders) == factorial(4)
    assert sum((count - expected) ** 2 / expected for count in orders.values()) < 90


def test_clusters_are_numbered_by_their_place() -> None:
    arranged = Clusters(3, np.array([0, 1, 1, 2], np.int32)).arrange([2, 0, 1])
    assert arranged.of.tolist() == [1, 2, 2, 0]


def dying(federation: Federation) -> None:
    """Have the guardian see the first sum and lose its batch; then party a is left out."""

    def lose() -> None:
        if federation.guardian.answers.pop(("s0", 1), None):
            raise refuse(ErrorCode.BATCH_DEAD)

    def leave_out(ticket: common_pb2.Ticket) -> None:
        if ticket.batch_id > 1:
            del ticket.schedule[0]

    federation.write_pool([(row % 3) / 2 for row in range(POOL)])
    federation.guardian.after_release = lose
    federation.guardian.alter_ticket = leave_out


@pytest.mark.parametrize("batch_size", [BATCH, POOL])
def test_the_guardian_does_not_see_a_batch_again_without_a_party(
    federation: Federation, batch_size: int
) -> None:
    dying(federation)
    run(federation, options(batch_size=batch_size, queries=POOL))
    dead, again, *_ = load_state(run_of(federation)).batches
    assert (dead.status, again.status) == ("dead", "released")
    assert [len(federation.guardian.frozen["s0", batch]) for batch in (1, 2)] == [3, 2]
    assert dead.queries != again.queries
    seen = [federation.guardian.histograms["s0", batch].argmax(axis=1).tolist() for batch in (1, 2)]
    assert seen == [[row % 3 for row in batch.queries] for batch in (dead, again)]
    if batch_size < POOL:
        assert set(dead.queries) != set(again.queries)
    else:
        assert sorted(dead.queries) == sorted(again.queries)


def test_another_run_of_a_pool_asks_in_another_order(federation: Federation) -> None:
    federation.write_pool([(row % 3) / 2 for row in range(POOL)])
    orders = []
    for name in ("run", "again"):
        run(federation, options(batch_size=POOL))
        run_of(federation).rename(federation.root / f"{name}-kept")
        orders.append(load_state(federation.root / f"{name}-kept").batches[0].queries)
    assert orders[0] != orders[1]
