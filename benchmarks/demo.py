"""Processor seconds of the demo: by step, and by kind of process, imports separately.

``python -m benchmarks.demo [SETTINGS]`` runs one simulation and prints both tables. Processor seconds measure
a run's cost independently of the machine's other load. Linux only.
"""

import resource
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from rich.table import Table

from benchmarks.processors import TICKS
from ostraka.common.console.screen import Screen
from ostraka.deploy.simulation.processes import MAIN, Process, Start, forking
from ostraka.deploy.simulation.settings_file import load_settings

DEMO = Path("examples/demo.toml")
EVERY_S = 0.05
PARENT = 1  # in /proc/PID/stat, counted after the name
OWN = slice(11, 13)
ENDED = slice(13, 15)
"""Fields of /proc/PID/stat after the name: the parent, ticks of the process, ticks of its ended children."""


class Watched:
    """Starts processes through another function, and records how many processor seconds each has taken.

    Processes are polled until they have ended, so the last `EVERY_S` seconds may be missed.

    Attributes:
        imported: seconds that the fork server took before its first fork.
    """

    def __init__(self, start: Start) -> None:
        self._start = start
        self._kinds: dict[int, str] = {}
        self._seconds: dict[int, float] = {}
        self._forks_from: int | None = None
        self.imported = 0.0

    def __call__(
        self, arguments: Sequence[str], log: BinaryIO, environment: Mapping[str, str], *, entry: str = MAIN
    ) -> Process:
        """Start a process, whose kind is determined by its log's name."""
        process = self._start(arguments, log, environment, entry=entry)
        if self._forks_from is None:
            self._forks_from = int(_fields(process.pid)[PARENT])
            self.imported = _seconds(self._forks_from, OWN)
        self._kinds[process.pid] = kind(Path(log.name).stem)
        return process

    def look(self) -> None:
        """Poll every process that was started."""
        for pid in list(self._kinds):
            self._seconds[pid] = _seconds(pid, OWN) or self._seconds.get(pid, 0.0)

    def total(self) -> float:
        """Return the seconds so far of this process, of the fork server, and of all its forks."""
        forked = sum(_seconds(pid, OWN) for pid in list(self._kinds))
        server = self._forks_from
        return time.process_time() + forked + (_seconds(server, OWN, ENDED) if server is not None else 0.0)

    def by_kind(self) -> dict[str, tuple[int, float]]:
        """Return the number of processes of each kind, and their total seconds."""
        seconds = Counter[str]()
        for pid, name in self._kinds.items():
            seconds[name] += self._seconds[pid]  # type: ignore[assignment]
        return {name: (count, seconds[name]) for name, count in Counter(self._kinds.values()).items()}


def kind(name: str) -> str:
    """Return the kind of process that has a log with this name."""
    if name == "guardian":
        return "guardian serve"
    return "party train" if name.endswith("-train") else "party serve"


def _fields(pid: int) -> list[str]:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()


def _seconds(pid: int, *parts: slice) -> float:
    """Return the processor seconds of a process so far; 0 once it has ended."""
    try:
        fields = _fields(pid)
    except (FileNotFoundError, ProcessLookupError):
        return 0.0
    return sum(int(ticks) for part in parts for ticks in fields[part]) / TICKS


@contextmanager
def watching(processes: Watched) -> Iterator[None]:
    """Poll the processes continuously in the block."""
    over = threading.Event()

    def watch() -> None:
        while not over.wait(EVERY_S):
            processes.look()

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def run(settings: Path, folder: Path) -> tuple[dict[str, tuple[float, float]], dict[str, tuple[int, float]]]:
    """Simulate once; return wall and processor seconds by step, and number and seconds by kind of process."""
    steps = {}
    with forking() as start:
        from ostraka.deploy.simulation.run import simulate

        imported = time.process_time()
        processes = Watched(start)

        @contextmanager
        def announce(step: str) -> Iterator[None]:
            wall = time.perf_counter()
            processor = processes.total()
            yield
            steps[step] = time.perf_counter() - wall, processes.total() - processor

        with watching(processes):
            simulate(load_settings(settings, {}, named=str), folder, announce=announce, start=processes)
        kinds = {
            "simulator: imports": (1, imported),
            "simulator: the rest": (1, time.process_time() - imported),
            "fork server: imports": (1, processes.imported),
        }
    return steps, kinds | processes.by_kind()


def main() -> None:
    """Run the demo, or the given settings, and print where its seconds went."""
    settings = Path(sys.argv[1]) if len(sys.argv) > 1 else DEMO
    with tempfile.TemporaryDirectory() as folder:
        steps, kinds = run(settings, Path(folder) / "run")
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    everything = time.process_time() + ended.ru_utime + ended.ru_stime
    by_step = Table("step", "wall s", "processor s", title="By step")
    for step, (wall, processor) in steps.items():
        by_step.add_row(step, f"{wall:.1f}", f"{processor:.1f}")
    by_kind = Table("processes", "processor s", title=f"{everything:.1f} processor s in all")
    for name, (count, seconds) in kinds.items():
        by_kind.add_row(name if count == 1 else f"{count} x {name}", f"{seconds:.1f}")
    for table in (by_step, by_kind):
        Screen().print(table)


if __name__ == "__main__":
    main()
