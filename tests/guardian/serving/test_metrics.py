"""What the guardian's metrics tell of its ledger."""

import threading
from collections.abc import Callable
from typing import Any, cast

import pytest
from prometheus_client import CollectorRegistry

from ostraka.common.clock import ManualClock
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.guardian.ledger import Budget, Ledger, UnitKey
from ostraka.guardian.ledger.units import balances
from ostraka.guardian.serving.metrics import UNITS, GuardianMetrics, remaining
from ostraka.guardian.serving.timers import beating
from tests.fair_clock import HANGS_S

LOST = OstrakaError(ErrorCode.LEDGER_FENCED, "Another guardian took over.")


def unit(number: int = 0, **amounts: int) -> Budget:
    values: dict[str, Any] = {"budget": 1000, "spent": 0, "reserved": 0} | amounts
    key = UnitKey("a", f"g{number:04}", "record")
    return Budget(key=key, epsilon=1.0, delta=1e-5, order=8.0, enforce="worst_case", **values)


class Away:
    """A ledger whose database comes and goes."""

    def __init__(self, *budgets: Budget) -> None:
        self.known, self.here = list(budgets), True

    def read(self, question: Callable[..., list[Any]]) -> list[Any]:
        if not self.here:
            raise OstrakaError(ErrorCode.LEDGER_UNREACHABLE, "The database is away.")
        return self.known if question is balances.all_budgets else []


def watched(ledger: Away) -> CollectorRegistry:
    registry = CollectorRegistry()
    GuardianMetrics(registry, ManualClock(0.0)).watch(cast(Ledger, ledger), lambda: 2)
    return registry


@pytest.mark.parametrize(
    ("amounts", "left"),
    [
        ({}, 1.0),
        ({"spent": 1}, 0.99),
        ({"spent": 9}, 0.99),
        ({"spent": 100, "reserved": 400}, 0.5),
        ({"spent": 2000}, 0.0),
        ({"budget": 0}, 0.0),
    ],
)
def test_what_is_left_is_told_in_whole_hundredths_rounded_down(amounts: dict[str, int], left: float) -> None:
    assert remaining(unit(**amounts)) == left


def test_the_units_with_the_least_left_are_told() -> None:
    many = [unit(number, spent=0 if number else 500) for number in range(UNITS, -1, -1)]
    registry = watched(Away(*many))
    (told,) = (one for one in registry.collect() if one.name.endswith("remaining_ratio"))
    assert len(told.samples) == UNITS
    assert told.samples[0].labels["group"] == "g0000"
    assert registry.get_sample_value("ostraka_guardian_units", {"state": "active"}) == UNITS + 1


def test_the_lease_is_held_as_long_as_it_is_renewed() -> None:
    registry, renewals = CollectorRegistry(), iter((None, LOST))
    metrics, seen = GuardianMetrics(registry, ManualClock(0.0)), []
    lost = threading.Event()

    class Replica:
        def renew_lease(self) -> None:
            seen.append(registry.get_sample_value("ostraka_guardian_lease_held"))
            error = next(renewals)
            if error is not None:
                raise error

    with beating(cast(Ledger, Replica()), lost.set, interval_s=1e-3, told=metrics.lease):
        assert lost.wait(HANGS_S)
    assert seen == [1, 1]
    assert registry.get_sample_value("ostraka_guardian_lease_held") == 0


def test_a_scrape_succeeds_while_the_database_is_away() -> None:
    ledger = Away(unit())
    ledger.here = False
    registry = watched(ledger)
    assert registry.get_sample_value("ostraka_guardian_ledger_up") == 0
    assert registry.get_sample_value("ostraka_guardian_batches_under_way") == 2
    assert not any(one.name.endswith("remaining_ratio") for one in registry.collect())
