"""Stop signals."""

import subprocess
import sys

import pytest

from tests.fair_clock import HANGS_S

STOP = """
import signal
from ostraka.common.rpc.serving import stop_on_signal

stop = stop_on_signal()
with stop._cond:  # as in the middle of wait() and set()
    signal.raise_signal(signal.{first})
    signal.raise_signal(signal.{second})
stop.wait()
"""


@pytest.mark.parametrize(("first", "second"), [("SIGTERM", "SIGTERM"), ("SIGINT", "SIGTERM")])
def test_signals_at_any_moment_stop_a_server(first: str, second: str) -> None:
    code = STOP.format(first=first, second=second)
    assert subprocess.run([sys.executable, "-c", code], timeout=HANGS_S).returncode == 0
