"""Evaluation of heads with squares on all cores of a party: logits are computed in processes, part by
part."""

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
"""Maximum number of processes, because each needs memory."""
ROWS = 256
"""Maximum total outputs of the first layers of a part's heads, unless the part is a single head."""
ATTEMPTS = 2
"""How often a part is tried if its process ends."""


@contextmanager
def head_processes() -> Iterator["HeadProcesses | None"]:
    """Yield processes for the cores that this process may use; None if there is a single core.

    OMP_NUM_THREADS also limits the cores.
    """
    from ostraka.services.teachers.layouts.layouts import threads

    count = min(cores(), threads(), MAX_PROCESSES)
    if count == 1:
        yield None
        return
    with closing(HeadProcesses(count)) as processes:
        yield processes


class HeadProcesses:
    """Evaluates heads with squares for any number of batches; thread-safe.

    A process is started when all others are busy, and reused. A process that ends is replaced.
    """

    def __init__(self, count: int) -> None:
        self._count = count
        self._threads = ThreadPoolExecutor(count, thread_name_prefix="heads")
        # Guards the sets of all and of free processes; never held during an evaluation.
        self._lock = threading.Lock()
        self._free: list[HeadProcess] = []
        self._all: set[HeadProcess] = set()
        self._closed = False

    @property
    def pids(self) -> frozenset[int | None]:
        """Ids of the current processes."""
        with self._lock:
            return frozenset(one.pid for one in self._all)

    def logits(
        self, message: bytes, heads: Sequence[EncryptedHead], seed: bytes, instances: int
    ) -> Iterator[MaskedLogits]:
        """Yield the masked logits of each head in order, as `CkksEvaluator.logits` does.

        `message` is Evaluate's, with keys and queries. At most as many parts as processes are in progress.

        Raises:
            OstrakaError: as `CkksEvaluator` does; `process.failed` if the processes of a part end,
                `server.stopping` after `close`.
        """
        batch = SharedBatch(message, seed, instances)
        left = iter(parts(heads, self._count))
        under_way = deque(self._begin(batch, part) for part in islice(left, self._count))
        try:
            while under_way:
                made = under_way.popleft().result()
                # A part is started for each one that is done, so logits of at most that many parts wait in
                # memory.
                under_way.extend(self._begin(batch, part) for part in islice(left, 1))
                yield from made
        finally:
            for one in under_way:
                one.cancel()
            with self._lock:
                for process in self._free:
                    process.forget(batch)

    def close(self) -> None:
        """End all processes; their work fails."""
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
        """Hold a free process, if possible one that has the batch; it is free again unless it has ended."""
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
        """Close a process that ended, and all idle ones, which may have ended too."""
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
    """Split heads into ranges of nearly equal length, for `count` processes in as few rounds as ROWS
    allow."""
    rows = sum(head.layers[0].outputs for head in heads)
    rounds = -(-rows // (count * ROWS))
    runs = np.array_split(np.arange(len(heads)), min(count * rounds, len(heads)))
    return [Part(int(run[0]), [heads[place] for place in run]) for run in runs]


GROUPS = Path("/sys/fs/cgroup")
"""Where Linux reports the limits of a control group, such as a container's."""
QUOTA = "cpu.max"


def cores() -> int:
    """Return how many cores this process may use: those in its affinity, limited by its container's quota."""
    here = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min(here, _quota(here)))


def _quota(most: int) -> int:
    """Return this control group's quota in cores, rounded up; `most` if it has none."""
    try:
        time, period = (GROUPS / QUOTA).read_text(encoding="utf-8").split()
        return most if time == "max" else -(-int(time) // int(period))
    except (OSError, ValueError):
        return most
