"""The limit of `make test` fails cases that are slow by themselves, and no others."""

import pytest

pytest_plugins = ["pytester"]

CONFTEST = """
import resource, pytest
from tests.fair_clock import used_s
from tests.processor_time import ProcessorTime

def pytest_configure(config):
    config.addinivalue_line("markers", "heavy: slow")
    config.pluginmanager.register(ProcessorTime(4, lambda: LOOP_S))

def busy(seconds=0.1):
    until = used_s() + seconds
    while used_s() < until:
        pass

@pytest.fixture(scope="module")
def shared():
    busy()

@pytest.fixture
def own():
    busy()
"""
CASES = """
import pytest
from conftest import busy

def test_slow(): busy()
def test_slow_by_its_own_fixture(own): pass
def test_slow_by_a_fixture_of_all(shared): pass
def test_fast(): pass

@pytest.mark.heavy
def test_heavy(): busy()
"""


def test_slow_cases_fail_unless_they_are_heavy(pytester: pytest.Pytester) -> None:
    pytester.makeconftest(CONFTEST.replace("LOOP_S", "0.02"))
    pytester.makepyfile(CASES)
    result = pytester.runpytest("-p", "no:cacheprovider", "-p", "no:xdist")
    result.assert_outcomes(passed=3, failed=2)
    slow = ("test_slow", "test_slow_by_its_own_fixture")
    result.stdout.fnmatch_lines(
        [line for name in slow for line in (f"*_ {name} _*", "took * s of processor time*")]
    )


def test_on_a_slow_machine_cases_may_take_longer(pytester: pytest.Pytester) -> None:
    pytester.makeconftest(CONFTEST.replace("LOOP_S", "0.09"))
    pytester.makepyfile(CASES)
    result = pytester.runpytest("-p", "no:cacheprovider", "-p", "no:xdist")
    result.assert_outcomes(passed=5)
