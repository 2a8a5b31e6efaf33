"""What a forked process finds: all that a fresh one would, and nothing of the fork server or its siblings."""

import json
import os
import select
import signal
import sys
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.deploy.simulation.processes import ChildCommand, Start, Supervisor, forking
from tests.deploy.simulation.test_processes import SCRIPT, WAIT
from tests.fair_clock import HANGS_S

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux forks")
TELL = """
import atexit, json, os, random, secrets, signal, sys
import numpy as np, torch, threadpoolctl
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from ostraka.guardian.noise import ExactNoise
atexit.register(print, "at the end")
print(json.dumps({
    "arguments": sys.argv[1:],
    "folder": os.getcwd(),
    "environment": dict(os.environ),
    "input": sys.stdin.read(),
    "session": os.getsid(0) == os.getpid() == os.getpgrp(),
    "open": sorted(os.listdir("/proc/self/fd"))[:-1],
    "handlers": [signal.getsignal(number) is signal.SIG_DFL for number in (signal.SIGCHLD, signal.SIGTERM)],
    "interrupt": signal.getsignal(signal.SIGINT) is signal.default_int_handler,
    "server threads": len(os.listdir(f"/proc/{os.getppid()}/task")),
    "threads": [torch.get_num_threads(), *(pool["num_threads"] for pool in threadpoolctl.threadpool_info())],
    "draws": [random.random(), np.random.random(), torch.rand(1).item(), secrets.randbits(64)],
    "noise": ExactNoise().gaussian(1e6, (4,)).tolist(),
    "imported": sorted({"dp_accounting", "pandas", "polars", "skops"} & set(sys.modules)),
    "key": Ed25519PrivateKey.generate().private_bytes_raw().hex(),
}))
sys.exit(3)
"""


def told(child_log: Path) -> dict[str, Any]:
    first, last = child_log.read_text().splitlines()
    assert last == "at the end"
    found: dict[str, Any] = json.loads(first)
    return found


def test_a_forked_process_is_as_good_as_new(
    tmp_path: Path, start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    environment = {"OMP_NUM_THREADS": "3", "ONLY": "here"}
    monkeypatch.chdir(tmp_path)
    with Supervisor(tmp_path, environment, start=partial(start, entry=SCRIPT)) as processes:
        children = [processes.start(ChildCommand(name, [TELL, name])) for name in ("a", "b")]
        assert [child.process.wait() for child in children] == [3, 3]
    one, other = (told(child.log) for child in children)
    assert (one["arguments"], other["arguments"]) == (["a"], ["b"])
    assert one["folder"] == str(tmp_path)
    assert one["environment"] == dict(os.environ) | environment
    assert (one["input"], one["open"]) == ("", ["0", "1", "2"])
    assert one["session"]
    assert one["interrupt"]
    assert all(one["handlers"])
    assert one["server threads"] == 1
    assert one["imported"] == ["dp_accounting", "skops"], "what serves waits for all, and no module is hidden"
    assert set(one["threads"]) == {3}
    assert all(a != b for a, b in zip(one["draws"], other["draws"], strict=True))
    assert one["noise"] != other["noise"]
    assert one["key"] != other["key"]


def test_an_environment_may_exceed_the_buffer_of_a_socket(tmp_path: Path, start: Start) -> None:
    environment = {f"LONG_{number}": "x" * 100_000 for number in range(10)}
    script = "import os; print(sum(len(value) for name, value in os.environ.items() if name[:5] == 'LONG_'))"
    with Supervisor(tmp_path, environment, start=partial(start, entry=SCRIPT)) as processes:
        child = processes.start(ChildCommand("site", [script]))
        assert child.process.wait(HANGS_S) == 0
    assert child.log.read_text() == "1000000\n"


@pytest.mark.heavy
def test_nothing_outlives_the_fork_server(tmp_path: Path) -> None:
    with forking() as start, Supervisor(tmp_path, start=partial(start, entry=SCRIPT)) as processes:
        child = processes.start(ChildCommand("site", [f"import os; print(os.getppid(), flush=True); {WAIT}"]))
        while not (server := child.log.read_text()):
            assert child.process.poll() is None
        ended = os.pidfd_open(child.process.pid)
        os.kill(int(server), signal.SIGKILL)
        assert select.select([ended], [], [], HANGS_S)[0]
        assert child.process.wait(HANGS_S) == -signal.SIGKILL
        with pytest.raises(OstrakaError) as caught:
            processes.start(ChildCommand("late", [WAIT]))
        assert caught.value.code == ErrorCode.PROCESS_FAILED
