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


ELSEWHERE = """
import signal
import threading
from ostraka.common.rpc.serving import stop_on_signal

stop = stop_on_signal()
waits = threading.Timer(0.1, lambda: signal.pthread_kill(threading.get_ident(), signal.SIGTERM))
waits.start()
stop.wait()
"""


def test_a_signal_that_another_thread_is_given_stops_a_server() -> None:
    """The kernel chooses the thread, and the main thread waits on."""
    assert subprocess.run([sys.executable, "-c", ELSEWHERE], timeout=HANGS_S).returncode == 0


RELOAD = """
import os
import signal
import threading
from ostraka.common.rpc.serving import stop_on_signal

told = threading.Event()
stop = stop_on_signal(hang_up=told.set)
os.kill(os.getpid(), signal.SIGHUP)
told.wait()
assert not stop.is_set()
"""


def test_a_server_told_to_read_anew_goes_on() -> None:
    assert subprocess.run([sys.executable, "-c", RELOAD], timeout=HANGS_S).returncode == 0
