"""All cores of a party for heads with squares: their logits are computed in processes, part by part."""

import os
import threading
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, contextmanager
from itertools import islice
from pathlib import Path

import numpy as np
import structlog

from ostraka.common.crypto.heads import EncryptedHead
from ostraka.common.crypto.inference import MaskedLogits
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.services.encrypted.head_process import HeadProcess, Part, SharedBatch
from ostraka.services.hosting.admission import stopping

MAX_PROCESSES = 8
"""Processes at most, because each takes memory."""
ROWS = 256
"""Values that the first layers of a part's heads give at most, or it is one head."""
ATTEMPTS = 2
"""How often a part is tried whose process ends."""


@contextmanager
def head_processes() -> Iterator["HeadProcesses | None"]:
    """Yield processes for the cores that this process may use; None where there is one.

    OMP_NUM_THREADS counts among what says how many these are.
    """
    from ostraka.services.teachers.layouts.layouts import threads

    count = min(cores(), threads(), MAX_PROCESSES)
    if count == 1:
        yield None
        return
    with closing(HeadProcesses(count)) as processes:
        yield processes


class HeadProcesses:
    """Evaluates heads with squares for any number of batches; safe to call from many threads.

    A process is started when all others are busy, and kept. One that ends is replaced.
    """

    def __init__(self, count: int) -> None:
        self._count = count
        self._threads = ThreadPoolExecutor(count, thread_name_prefix="heads")
        # Guards which processes there are and which are free; never held while one evaluates.
        self._lock = threading.Lock()
        self._free: list[HeadProcess] = []
        self._all: set[HeadProcess] = set()
        self._closed = False

    @property
    def pids(self) -> frozenset[int | None]:
        """Ids of the processes that there are."""
        with self._lock:
            return frozenset(one.pid for one in self._all)

    def logits(
        self, message: bytes, heads: Sequence[EncryptedHead], seed: bytes, instances: int
    ) -> Iterator[MaskedLogits]:
        """Masked logits of each head in turn, as `CkksEvaluator.logits` gives them.

        `message` is Evaluate's, of keys and queries. As many parts are under way as there are processes.

        Raises:
            OstrakaError: as `CkksEvaluator` does; `process.failed` where the processes of a part end,
                `server.stopping` once closed.
        """
        batch = SharedBatch(message, seed, instances)
        left = iter(parts(heads, self._count))
        under_way = deque(self._begin(batch, part) for part in islice(left, self._count))
        try:
            while under_way:
                made = under_way.popleft().result()
                # One begun for each that is done: no more logits wait in memory than there are processes.
                under_way.extend(self._begin(batch, part) for part in islice(left, 1))
                yield from made
        finally:
            for one in under_way:
                one.cancel()
            with self._lock:
                for process in self._free:
                    process.forget(batch)

    def close(self) -> None:
        """End all processes; whatever they were doing fails."""
        with self._lock:
            self._closed = True
            for process in self._all:
                process.end()
        self._threads.shutdown()
        for process in self._all:
            process.close()

    def _begin(self, batch: SharedBatch, part: Part) -> Future[list[MaskedLogits]]:
        with self._lock:
            if self._closed:
                raise stopping()
            return self._threads.submit(self._evaluate, batch, part)

    def _evaluate(self, batch: SharedBatch, part: Part) -> list[MaskedLogits]:
        for _ in range(ATTEMPTS):
            try:
                with self._process(batch) as process:
                    return process.evaluate(batch, part)
            except (EOFError, OSError) as exc:
                structlog.get_logger().warning("party.head_process_ended", problem=type(exc).__name__)
        raise OstrakaError(
            ErrorCode.PROCESS_FAILED,
            "The processes in which this party evaluates heads end too early, most likely because memory "
            "is short: give them more memory, or fewer cores by OMP_NUM_THREADS.",
        )

    @contextmanager
    def _process(self, batch: SharedBatch) -> Iterator[HeadProcess]:
        """Hold a free process, one that knows the batch if there is any; it is free again if it lives."""
        process = self._take(batch)
        try:
            yield process
        except (EOFError, OSError):
            self._drop(process)
            raise
        except BaseException:
            self._free_again(process)
            raise
        self._free_again(process)

    def _take(self, batch: SharedBatch) -> HeadProcess:
        with self._lock:
            if self._closed:
                raise stopping()
            self._free.sort(key=lambda one: one.knows(batch))
            if self._free:
                return self._free.pop()
            process = HeadProcess()
            self._all.add(process)
            return process

    def _drop(self, process: HeadProcess) -> None:
        """Close a process that ended, and all that are idle: they may have ended with it."""
        with self._lock:
            ended = [process, *self._free]
            self._free.clear()
            self._all.difference_update(ended)
        for one in ended:
            one.close()

    def _free_again(self, process: HeadProcess) -> None:
        with self._lock:
            self._free.append(process)


def parts(heads: Sequence[EncryptedHead], count: int) -> list[Part]:
    """Split heads into runs of nearly equal length, for `count` processes in as few rounds as ROWS allow."""
    rows = sum(head.layers[0].outputs for head in heads)
    rounds = -(-rows // (count * ROWS))
    runs = np.array_split(np.arange(len(heads)), min(count * rounds, len(heads)))
    return [Part(int(run[0]), [heads[place] for place in run]) for run in runs]


GROUPS = Path("/sys/fs/cgroup")
"""Where Linux tells what a control group, such as a container's, may use."""
QUOTA = "cpu.max"


def cores() -> int:
    """Return how many cores this process may use: those that it may run on, within its container's quota."""
    here = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min(here, _quota(here)))


def _quota(most: int) -> int:
    """Return this control group's quota in cores, rounded up; `most` where it has none."""
    try:
        time, period = (GROUPS / QUOTA).read_text(encoding="utf-8").split()
        return most if time == "max" else -(-int(time) // int(period))
    except (OSError, ValueError):
        return most
