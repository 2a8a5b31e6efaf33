"""Cases are ended by a clock that stands still while other work has the cores."""

import pytest

from tests.fair_clock import FairClock

pytest_plugins = ["pytester"]

CONFTEST = """
import itertools, threading, pytest
from tests.fair_clock import FairClock, FairTimeouts

def clock():
    ticks = itertools.count()
    return FairClock(lambda: float(next(ticks)), lambda: IDLE, lambda: 0.0)

def pytest_configure(config):
    config.pluginmanager.register(FairTimeouts(clock))
"""
HANGING = """
import threading, pytest

@pytest.mark.timeout(3)
def test_that_hangs(): threading.Event().wait()

def test_after_it(): pass
"""
WAITING = """
import pytest

@pytest.mark.timeout(1)
def test_that_waits():
    for _ in range(3):
        pytest.importorskip("threading").Event().wait(0.6)
"""


class Machine:
    """What a clock looks at."""

    def __init__(self) -> None:
        self.now = self.idle = self.used = 0.0
        self.clock = FairClock(lambda: self.now, lambda: self.idle, lambda: self.used)

    def pass_s(self, seconds: float, idle: float, used: float = 0.0) -> float:
        self.now += seconds
        self.idle += idle
        self.used += used
        return self.clock.seconds()


def test_seconds_count_while_a_core_is_idle() -> None:
    machine = Machine()
    assert machine.pass_s(10, idle=10) == 10
    assert machine.pass_s(10, idle=20) == 20


def test_seconds_do_not_count_while_others_have_all_cores() -> None:
    machine = Machine()
    assert machine.pass_s(10, idle=0) == 0
    assert machine.pass_s(100, idle=4) == 0


def test_own_processor_time_counts_where_no_core_is_idle_and_no_more_than_passed() -> None:
    machine = Machine()
    assert machine.pass_s(10, idle=0, used=4) == 4
    assert machine.pass_s(10, idle=0, used=19) == 14


def test_looks_that_are_too_close_together_are_put_together() -> None:
    machine = Machine()
    assert machine.pass_s(0.3, idle=0.3) == 0
    assert machine.pass_s(0.3, idle=0.3) == pytest.approx(0.6)


def run(pytester: pytest.Pytester, cases: str, idle: str) -> pytest.RunResult:
    pytester.makeconftest(CONFTEST.replace("IDLE", idle))
    pytester.makepyfile(cases)
    return pytester.runpytest_subprocess("-p", "no:cacheprovider", "-p", "no:xdist")


@pytest.mark.heavy
def test_a_case_that_hangs_is_ended_alone(pytester: pytest.Pytester) -> None:
    result = run(pytester, HANGING, "float(next(ticks))")
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["*Timeout (>3.0s)*"])


@pytest.mark.heavy
def test_a_case_that_waits_while_others_have_the_cores_is_left_alone(pytester: pytest.Pytester) -> None:
    run(pytester, WAITING, "0.0").assert_outcomes(passed=1)
