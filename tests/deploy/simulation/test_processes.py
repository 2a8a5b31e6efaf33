import json
import os
import select
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.deploy.simulation.processes import CHILD, ChildCommand, Start, Supervisor, exit_on_signals, fresh

SCRIPT = "tests.deploy.simulation.script:run"
WAIT = "import signal; signal.pause()"
DEAF = """
import pathlib, signal, sys
signal.signal(signal.SIGTERM, signal.SIG_IGN)
from ostraka.common.rpc.serving import write_ready
write_ready(pathlib.Path(sys.argv[1]), "x")
signal.pause()
"""


@pytest.fixture(params=["fresh", "forked"])
def script(request: pytest.FixtureRequest) -> Start:
    """Return what starts processes that run the script in their first argument, in both ways."""
    way = fresh if request.param == "fresh" else request.getfixturevalue("start")
    return partial(way, entry=SCRIPT)


def test_leaving_stops_every_child(tmp_path: Path, script: Start) -> None:
    with Supervisor(tmp_path, start=script) as processes:
        children = [processes.start(ChildCommand(f"site-{n}", [WAIT])).process for n in range(3)]
        assert all(child.poll() is None for child in children)
    assert all(child.returncode == -signal.SIGTERM for child in children)


def test_an_error_stops_every_child(tmp_path: Path, script: Start) -> None:
    processes = Supervisor(tmp_path, start=script)
    child = processes.start(ChildCommand("site", [WAIT])).process
    with pytest.raises(RuntimeError), processes:
        raise RuntimeError
    assert child.returncode == -signal.SIGTERM


def test_a_child_that_ignores_the_request_is_killed(tmp_path: Path, script: Start) -> None:
    ready = tmp_path / "ready"
    with Supervisor(tmp_path, grace_s=0.1, start=script) as processes:
        child = processes.start(ChildCommand("deaf", [DEAF, str(ready)]))
        assert processes.wait_ready(child, ready, 30) == "x"
    assert child.process.returncode == -signal.SIGKILL


LAST_WORDS = """
import pathlib, signal, sys, time
def stop(*_):
    time.sleep(0.2)
    open(sys.argv[1] + ".end", "w").close()
    sys.exit(0)
signal.signal(signal.SIGTERM, stop)
from ostraka.common.rpc.serving import write_ready
write_ready(pathlib.Path(sys.argv[1]), "x")
signal.pause()
"""


def test_a_child_that_is_ended_may_take_its_time(tmp_path: Path, script: Start) -> None:
    ready = tmp_path / "ready"
    with Supervisor(tmp_path, grace_s=0.0, start=script) as processes:
        child = processes.start(ChildCommand("busy", [LAST_WORDS, str(ready)]))
        processes.wait_ready(child, ready, 30)
        processes.end(child)
        assert (child.process.returncode, ready.with_suffix(".end").exists()) == (0, True)


def test_a_server_that_ends_before_it_is_ready_is_quoted(tmp_path: Path, script: Start) -> None:
    with Supervisor(tmp_path, start=script) as processes:
        child = processes.start(ChildCommand("party-1", ["import sys; sys.exit('no model here')"]))
        with pytest.raises(OstrakaError, match=r"party-1 ended early.*no model here") as caught:
            processes.wait_ready(child, tmp_path / "ready", 30)
    assert caught.value.code == ErrorCode.PROCESS_FAILED


def test_a_server_that_is_never_ready_is_given_up(tmp_path: Path, script: Start) -> None:
    with Supervisor(tmp_path, start=script) as processes:
        child = processes.start(ChildCommand("slow", [WAIT]))
        with pytest.raises(OstrakaError, match="slow was not ready after 0 s"):
            processes.wait_ready(child, tmp_path / "ready", 0.0)


@pytest.mark.heavy
def test_jobs_run_a_few_at_once(tmp_path: Path, script: Start) -> None:
    counting = """
import os, sys
mine = sys.argv[1]
open(mine, "w").close()
together = len(os.listdir(os.path.dirname(mine)))
os.remove(mine)
sys.exit(together > 2)
"""
    running = tmp_path / "running"
    running.mkdir()
    with Supervisor(tmp_path / "logs", start=script) as processes:
        processes.run_all(
            [ChildCommand(f"job-{n}", [counting, str(running / str(n))]) for n in range(5)], at_once=2
        )


def test_the_first_failing_job_is_named(tmp_path: Path, script: Start) -> None:
    jobs = [
        ChildCommand("fine", ["pass"]),
        ChildCommand("broken", ["raise SystemExit('labels out of range')"]),
    ]
    with (
        Supervisor(tmp_path, start=script) as processes,
        pytest.raises(OstrakaError, match=r"broken failed.*out of range"),
    ):
        processes.run_all(jobs, at_once=2)


@pytest.mark.skipif(sys.platform != "linux", reason="asks the Linux kernel")
def test_children_die_with_a_killed_simulator(tmp_path: Path) -> None:
    simulator = f"""
import json, pathlib, signal
from functools import partial
from ostraka.deploy.simulation.processes import ChildCommand, Supervisor
from ostraka.deploy.simulation.processes import fresh
processes = Supervisor(pathlib.Path({str(tmp_path)!r}), start=partial(fresh, entry={SCRIPT!r}))
commands = [ChildCommand(str(n), [{WAIT!r}]) for n in range(2)]
print(json.dumps([processes.start(command).process.pid for command in commands]), flush=True)
signal.pause()
"""
    with subprocess.Popen([sys.executable, "-c", simulator], stdout=subprocess.PIPE) as process:
        assert process.stdout
        children = [os.pidfd_open(pid) for pid in json.loads(process.stdout.readline())]
        process.kill()
    assert all(select.select([child], [], [], 30)[0] for child in children)


@pytest.mark.skipif(sys.platform != "linux", reason="asks the Linux kernel")
def test_a_child_whose_parent_is_gone_already_does_not_start() -> None:
    ended = subprocess.run(
        [sys.executable, "-IS", str(CHILD), "1", "/bin/echo", "started"], capture_output=True
    )
    assert (ended.returncode, ended.stdout) == (1, b"")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_stop_signals_leave_in_order(tmp_path: Path, script: Start, number: signal.Signals) -> None:
    processes = Supervisor(tmp_path, start=script)
    child = processes.start(ChildCommand("site", [WAIT])).process
    with pytest.raises(SystemExit) as left, exit_on_signals(), processes:
        os.kill(os.getpid(), number)
    assert left.value.code == 128 + number
    assert child.returncode == -signal.SIGTERM
