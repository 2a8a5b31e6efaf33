"""Sessions that were opened while the guardian's clock was ahead: their grants begin later."""

from collections.abc import Callable

import pytest

from ostraka.client.session import session as sessions
from ostraka.client.session.run_state import RunStore, load_state
from ostraka.common.clock import SystemClock
from ostraka.common.errors import ErrorCode, OstrakaError
from tests.client.driving import right, rows, run, run_of, session_of
from tests.client.federation import FakeGuardian, Federation
from tests.clocks import Ahead

HOUR_S = 3600.0
SetClock = Callable[[float], object]


@pytest.fixture
def set_clock(either: Federation) -> SetClock:
    """Return what puts the guardian's clock so many seconds ahead of everybody else's."""
    guardian = either.guardian
    if isinstance(guardian, FakeGuardian):
        return lambda ahead_s: setattr(guardian, "now", lambda: SystemClock().now() + ahead_s)
    clock = guardian.host.clock
    return lambda ahead_s: clock.advance(SystemClock().now() + ahead_s - clock.now())


def refused(federation: Federation) -> None:
    with pytest.raises(OstrakaError) as raised:
        run(federation)
    assert raised.value.code is ErrorCode.GRANT_NOT_YET_VALID
    assert "run this again" in raised.value.message
    assert load_state(run_of(federation)).batches == ()


def test_a_run_goes_on_in_another_session_once_the_clock_is_right(
    either: Federation, set_clock: SetClock
) -> None:
    set_clock(HOUR_S)
    for _ in range(2):
        refused(either)
    early = session_of(either)
    set_clock(0.0)
    assert run(either).answered == 10
    assert rows(either) == right(10)
    assert session_of(either) != early
    assert early in either.guardian.closed
    assert len(either.guardian.plans) == len(set(either.guardian.closed)) == 4
    assert {session for session, _ in either.guardian.answers} == {session_of(either)}


@pytest.mark.parametrize("either", ["stand-in"], indirect=True)
@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("step", ["renew", "record_grant", "close"])
def test_an_interruption_leaves_no_session_open(
    either: Federation, set_clock: SetClock, monkeypatch: pytest.MonkeyPatch, step: str, after: bool
) -> None:
    set_clock(HOUR_S)
    refused(either)
    set_clock(0.0)
    with monkeypatch.context() as patch:
        owner = sessions if step == "close" else RunStore
        real = getattr(owner, step)

        def then_interrupted(*arguments: object) -> None:
            if after:
                real(*arguments)
            raise KeyboardInterrupt

        patch.setattr(owner, step, then_interrupted)
        with pytest.raises(KeyboardInterrupt):
            run(either)
    assert run(either).answered == 10
    assert len(either.guardian.plans) == len(set(either.guardian.closed))


def interrupted(*_: object) -> None:
    raise KeyboardInterrupt


def test_a_session_that_was_asked_something_stays(
    either: Federation, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As where the clock of this site is what went back: another session would charge twice."""

    monkeypatch.setattr(RunStore, "record_answers", interrupted)
    with pytest.raises(KeyboardInterrupt):
        run(either)
    monkeypatch.undo()
    session = session_of(either)
    with pytest.raises(OstrakaError) as raised:
        run(either, clock=Ahead(-HOUR_S))
    assert raised.value.code is ErrorCode.GRANT_NOT_YET_VALID
    assert session_of(either) == session
    assert run(either).answered == 10
    assert len(either.guardian.plans) == 1
