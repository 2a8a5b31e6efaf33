"""The batches that a guardian holds in memory: one under each id, and no noise kept that nobody uses."""

from collections.abc import Iterator

import pytest

from ostraka.common.mechanism import Draw
from ostraka.guardian.noise import ExactNoise, NoisePrefetcher
from ostraka.guardian.sessions.batch import Batch
from ostraka.guardian.sessions.registry import OpenBatches
from ostraka.protos.ostraka.v1 import common_pb2
from tests.guardian.federation import plan
from tests.guardian.sessions.people import cohort, everybody

DRAW = Draw("gaussian", 3.0, (2, 3))


@pytest.fixture
def ahead() -> Iterator[NoisePrefetcher]:
    made = NoisePrefetcher(ExactNoise())
    yield made
    made.close()


def batch(ahead: NoisePrefetcher) -> Batch:
    return Batch(plan(), common_pb2.Ticket(), everybody([cohort("a")], 2), ahead.prepare([DRAW]))


def test_what_is_drawn_for_a_second_batch_under_one_id_is_dropped(ahead: NoisePrefetcher) -> None:
    batches, first, second = OpenBatches(), batch(ahead), batch(ahead)
    assert batches.add("s", 1, first)
    assert not batches.add("s", 1, second)
    assert batches.get("s", 1) is first
    assert (first.noise.values, second.noise.values) == (DRAW.values, 0)


def test_a_batch_that_is_forgotten_leaves_no_noise(ahead: NoisePrefetcher) -> None:
    batches, kept = OpenBatches(), batch(ahead)
    batches.add("s", 1, kept)
    batches.drop_session("s")
    assert batches.get("s", 1) is None
    assert kept.noise.values == 0
