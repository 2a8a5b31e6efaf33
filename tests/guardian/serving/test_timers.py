import threading
from functools import partial
from pathlib import Path

import pytest

from ostraka.common.clock import ManualClock
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.guardian.ledger import Ledger
from ostraka.guardian.serving import server
from ostraka.guardian.serving.timers import Forgetter, beating, forgetting
from tests.fair_clock import HANGS_S
from tests.guardian.federation import Federation
from tests.guardian.ledger.support import SEAL, START, cipher, sign


def opened(path: Path) -> Ledger:
    return Ledger.open(path, clock=ManualClock(START), cipher=cipher(), sign_head=sign, seal=SEAL)


def test_a_guardian_learns_that_another_one_took_over(tmp_path: Path) -> None:
    superseded = threading.Event()
    path = tmp_path / "ledger.db"
    with opened(path) as ledger, beating(ledger, superseded.set, interval_s=1e-3), opened(path):
        assert superseded.wait(HANGS_S)


@pytest.mark.parametrize("failing", [ErrorCode.LEDGER_UNREACHABLE, ErrorCode.LEDGER_LOCKED])
def test_a_heartbeat_that_fails_is_tried_again(failing: ErrorCode) -> None:
    superseded, calls = threading.Event(), []

    class Flaky(Ledger):
        def __init__(self) -> None:
            pass

        def renew_lease(self) -> None:
            calls.append(1)
            code = failing if len(calls) < 3 else ErrorCode.LEDGER_FENCED
            raise OstrakaError(code, "gone")

    with beating(Flaky(), superseded.set, interval_s=1e-3):
        assert superseded.wait(HANGS_S)
    assert len(calls) == 3


def test_a_guardian_drops_old_answers_as_long_as_it_serves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls, again = [], threading.Event()

    def forget(forgetter: Forgetter) -> None:
        calls.append(forgetter)
        if len(calls) == 1:
            raise OstrakaError(ErrorCode.LEDGER_UNREACHABLE, "gone")
        again.set()

    monkeypatch.setattr(Forgetter, "forget", forget)
    monkeypatch.setattr(server, "forgetting", partial(forgetting, interval_s=1e-3))
    with Federation(tmp_path).guardian():
        assert again.wait(HANGS_S)
    assert len(set(calls)) == 1, "one looks at each time of the past once"
