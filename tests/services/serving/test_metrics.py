"""What a party's metrics tell of its device, its places and its limits."""

import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from prometheus_client import CollectorRegistry

from ostraka.common.clock import ManualClock
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.learning.device import Device
from ostraka.common.learning.micro_batches import MicroBatches
from ostraka.common.mechanism import GnMax
from ostraka.services.admission.policy import PartyPolicy
from ostraka.services.hosting.admission import Admission
from ostraka.services.hosting.prediction_thread import PredictionThread
from ostraka.services.journal.journal import Journal
from ostraka.services.journal.limits import DAY_S, GroupCharge, QueryCount
from ostraka.services.serving.metrics import PartyMetrics, TimedSubmitter
from ostraka.services.voting.submission import GuardianShare
from tests.fake_card import GONE, FakeCards
from tests.guardian.federation import plan

QUERIES = np.zeros((3, 1), np.float32)
POLICY = PartyPolicy(epsilon_cap=10.0, delta=1e-5, queries_per_day=40)


class Slow:
    """Teachers that vote once they may."""

    def __init__(self) -> None:
        self.entered, self.go_on = threading.Event(), threading.Event()

    def predict(self, X: NDArray[np.float32], rows: slice) -> NDArray[Any]:
        self.entered.set()
        self.go_on.wait()
        return np.zeros((1, len(X)), np.int64)


class Failing:
    def predict(self, X: NDArray[np.float32], rows: slice) -> NDArray[Any]:
        raise ValueError("broken")


class Gone:
    def record_evaluation(self, session_id: str, batch_id: int) -> None:
        raise ConnectionError

    def submit(self, share: GuardianShare) -> None:
        raise ConnectionError


@pytest.fixture
def registry() -> CollectorRegistry:
    return CollectorRegistry()


@pytest.fixture
def metrics(registry: CollectorRegistry) -> PartyMetrics:
    return PartyMetrics(registry)


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Journal]:
    limits: dict[str, Any] = {"cap": POLICY.cap, "queries_per_day": POLICY.queries_per_day}
    with Journal(tmp_path / "journal.db", **limits) as made:
        yield made


def test_what_waits_for_the_device_is_told(registry: CollectorRegistry, metrics: PartyMetrics) -> None:
    slow, quick, rows = Slow(), Slow(), slice(None)
    quick.go_on.set()
    with closing(PredictionThread(Device(), metrics)) as thread:
        metrics.watch_device(thread)
        asked = [thread.ask(slow, QUERIES, rows)]
        slow.entered.wait()
        asked += [thread.ask(quick, QUERIES, slice(row, row + 1)) for row in range(2)]
        assert registry.get_sample_value("ostraka_party_device_waiting") == 2
        assert registry.get_sample_value("ostraka_party_device_queries_total") == 0
        slow.go_on.set()
        for votes in asked:
            votes.result()
        assert registry.get_sample_value("ostraka_party_device_waiting") == 0
        assert registry.get_sample_value("ostraka_party_device_queries_total") == 3 * len(QUERIES)


def test_predictions_that_fail_are_told_too(registry: CollectorRegistry, metrics: PartyMetrics) -> None:
    with closing(PredictionThread(Device(), metrics)) as thread, pytest.raises(ValueError, match="broken"):
        thread.predict(Failing(), QUERIES, slice(None))
    for step in ("wait", "predict"):
        assert registry.get_sample_value("ostraka_party_step_seconds_count", {"step": step}) == 1


def test_a_gpu_that_is_gone_fails_no_scrape(
    registry: CollectorRegistry, metrics: PartyMetrics, cards: FakeCards
) -> None:
    device = Device("cuda")
    cards.others = 3
    with closing(PredictionThread(device, metrics)) as thread:
        metrics.watch_device(thread)
        device.require()
        used = ("ostraka_party_gpu_memory_bytes", {"gpu": "card:0", "state": "used"})
        busy = "ostraka_party_gpu_busy_ratio", {"gpu": "card:0"}
        assert registry.get_sample_value(*used) == 3
        assert registry.get_sample_value(*busy) == 0.42
        cards.failure = GONE
        assert registry.get_sample_value(*used) is None
        assert registry.get_sample_value(*busy) is None
        assert registry.get_sample_value("ostraka_party_device_up") == 1


def test_failures_and_short_memory_are_counted(
    registry: CollectorRegistry, metrics: PartyMetrics, cards: FakeCards
) -> None:
    device = Device("cuda")
    with closing(PredictionThread(device, metrics)) as thread:
        metrics.watch_device(thread)
        assert registry.get_sample_value("ostraka_party_device_micro_batch") is None
        micro = MicroBatches(device, device.first, most=8)
        cards.memory = 4 * 100 * 6
        micro.evaluate(lambda part: part.sum(1), torch.zeros(8, 100))
        device.state.note_failure(OstrakaError(ErrorCode.SERVER_DEVICE_GONE, "Gone."))
        assert registry.get_sample_value("ostraka_party_device_micro_batch") == 4
        assert registry.get_sample_value("ostraka_party_device_memory_shortages_total") == 1
        assert registry.get_sample_value("ostraka_party_device_failures_total") == 1


def test_places_and_bytes_are_those_in_use(registry: CollectorRegistry, metrics: PartyMetrics) -> None:
    admission = Admission(places=3)
    metrics.watch_places(admission)
    with admission.place(100, "q"), admission.place(50, "other"):
        assert registry.get_sample_value("ostraka_party_places", {"state": "used"}) == 2
        assert registry.get_sample_value("ostraka_party_held_bytes") == 150
    assert registry.get_sample_value("ostraka_party_places", {"state": "used"}) == 0
    assert registry.get_sample_value("ostraka_party_places", {"state": "all"}) == 3


def test_limits_are_told_as_the_part_that_is_used(
    registry: CollectorRegistry, metrics: PartyMetrics, journal: Journal
) -> None:
    clock, querier = ManualClock(2 * DAY_S), "ostraka://test/q/query"
    charge = GroupCharge.of_json(GnMax(sigma=40.0).model_dump_json(), 10, 4, 1.0, "all", "record")
    journal.record("old", 1, [charge], QueryCount(querier, 20), clock.now() - DAY_S - 1)
    journal.record("new", 1, [charge], QueryCount(querier, 10), clock.now())
    metrics.watch_limits(journal, POLICY, clock)
    assert POLICY.cap is not None
    used = journal.amount_spent(POLICY.cap.order) / POLICY.cap.amount
    assert 0 < used < 1
    assert registry.get_sample_value("ostraka_party_cap_used_ratio") == used
    assert registry.get_sample_value("ostraka_party_daily_used_ratio", {"querier": "q"}) == 0.25


def test_a_party_without_limits_tells_of_none(registry: CollectorRegistry, tmp_path: Path) -> None:
    with Journal(tmp_path / "journal.db") as journal:
        PartyMetrics(registry).watch_limits(journal, PartyPolicy(), ManualClock(0.0))
        assert not any("used_ratio" in metric.name for metric in registry.collect())


def test_batches_count_by_kind_and_submissions_also_when_they_fail(
    registry: CollectorRegistry, metrics: PartyMetrics
) -> None:
    metrics.count_batch(plan(), 20)
    metrics.count_batch(plan(), 5)
    kind = {"mechanism": "confident", "encoding": "plain", "tally": "aggregate"}
    assert registry.get_sample_value("ostraka_party_batches_total", kind) == 2
    assert registry.get_sample_value("ostraka_party_queries_total", kind) == 25
    with pytest.raises(ConnectionError):
        TimedSubmitter(Gone(), metrics).submit(GuardianShare("s", 1, 1, 1, b""))
    assert registry.get_sample_value("ostraka_party_step_seconds_count", {"step": "submit"}) == 1
