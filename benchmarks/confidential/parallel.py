"""Speed-up of two threads, or two processes, in garbling and evaluation.

Processes send their results back, and receive the inputs of heads.
"""

import multiprocessing
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from statistics import median

import numpy as np
import scipy.sparse

from ostraka.common.crypto.ballot_circuits import ballot_circuit
from ostraka.common.crypto.heads import Affine, EncryptedHead
from ostraka.common.crypto.inference import scheme_of
from ostraka.common.crypto.logits import LOGIT_BITS, Head
from ostraka.common.crypto.stream import SEED_BYTES
from ostraka.common.crypto.transcripts import frame_keys
from ostraka.common.crypto.two_party import CircuitEvaluation, Computation, Garbling, binding
from ostraka.common.sharing.ballots import VOTE, ClassCounts
from ostraka.services.encrypted.head_processes import HeadProcesses, cores

WORKERS = 2  # compared with one: a machine with two cores shows the gain
REPEATS = 9  # odd, so the median is one of them
BALLOTS = 1024  # garbled by one computation
QUERIES = 500  # in a party's message for its heads
FEATURES = 64  # scikit-learn's digits have as many features
CLASSES = 10  # and as many classes
CONTEXT = SEED = bytes(SEED_BYTES)
HEADS: dict[Head, tuple[int, tuple[int, ...]]] = {
    "linear": (10, (FEATURES, CLASSES)),
    "square-mlp": (2, (FEATURES, 16, CLASSES)),
}
"""Number of heads that are evaluated at a time, and their layers."""


@dataclass(frozen=True)
class Case:
    """Two equal parts of work, each done by a call that returns what a party sends."""

    name: str
    parts: Sequence[Callable[[], bytes]] = field(repr=False)


def main() -> None:
    """Print a line for each kind of work."""
    print(f"{cores()} cores; seconds of one, and how many times as fast two are: medians of {REPEATS}")
    for case in cases():
        print(line(case))
    print(by_a_party())


def cases() -> Iterator[Case]:
    """Yield an answering party's work for an encrypted batch."""
    GARBLINGS.extend(_garbling(number) for number in range(WORKERS))
    yield Case(f"{BALLOTS} ballots garbled", [partial(garble, number) for number in range(WORKERS)])
    for kind, (count, widths) in HEADS.items():
        yield Case(f"{count} {kind} heads evaluated", [_evaluation(kind, count, widths)] * WORKERS)


def line(case: Case) -> str:
    """Measure a case: sequentially, and in parallel in both ways, alternately."""
    fork = multiprocessing.get_context("fork")
    with ProcessPoolExecutor(WORKERS, fork) as processes, ThreadPoolExecutor(WORKERS) as threads:
        ways: tuple[Executor | None, ...] = (None, threads, processes)
        for way in ways:
            _seconds(case, way)
        taken = [[_seconds(case, way) for way in ways] for _ in range(REPEATS)]
    one = median(row[0] for row in taken)
    gains = [sorted(row[0] / row[way] for row in taken) for way in (1, 2)]
    told = (f"{median(gain):.2f} ({gain[0]:.2f} to {gain[-1]:.2f})" for gain in gains)
    return f"{WORKERS} times {case.name}: {one:.3f} s; two threads {next(told)}, two processes {next(told)}"


def by_a_party() -> str:
    """Measure heads with squares in a party's processes, and in one process, alternately."""
    work = _evaluation("square-mlp", WORKERS * HEADS["square-mlp"][0], HEADS["square-mlp"][1])
    _, public, queries, heads = work.args
    taken = []
    with closing(HeadProcesses(WORKERS)) as processes:
        in_processes = partial(_logits, processes, frame_keys(public) + queries, heads)
        in_processes()
        for _ in range(REPEATS):
            taken.append([_seconds(Case("", [way]), None) for way in (work, in_processes)])
    gains = sorted(one / several for one, several in taken)
    return (
        f"{len(heads)} square-mlp heads by a party: {median(one for one, _ in taken):.3f} s in one process; "
        f"{WORKERS} processes {median(gains):.2f} ({gains[0]:.2f} to {gains[-1]:.2f})"
    )


def _logits(processes: HeadProcesses, message: bytes, heads: Sequence[EncryptedHead]) -> bytes:
    return b"".join(made.ciphertexts for made in processes.logits(message, heads, SEED, QUERIES))


GARBLINGS: list[Garbling] = []
"""Processes have a copy from their start."""


def garble(number: int) -> bytes:
    """Return the tables of one of the garblings."""
    return b"".join(GARBLINGS[number].tables())


def evaluate(kind: Head, public: bytes, queries: bytes, heads: Sequence[EncryptedHead]) -> bytes:
    """Return the encrypted, masked logits of heads."""
    evaluator = scheme_of(kind).evaluator(public, CONTEXT)
    return b"".join(made.ciphertexts for made in evaluator.logits(heads, queries, SEED, QUERIES))


def _garbling(number: int) -> Garbling:
    circuit = ballot_circuit(ClassCounts(), CLASSES, VOTE, LOGIT_BITS).circuit
    computation = Computation.of(circuit, BALLOTS)
    bound = binding("q", "p", "session", number)
    garbling = Garbling(computation, SEED, bound)
    evaluation = CircuitEvaluation(computation, bound)
    garbling.accept(evaluation.extension(garbling.points(evaluation.point())))
    return garbling


def _evaluation(kind: Head, count: int, widths: tuple[int, ...]) -> partial[bytes]:
    random = np.random.default_rng(0)
    keys = scheme_of(kind).keys()
    queries = keys.encrypt(random.uniform(0, 1, (QUERIES, FEATURES)))
    layers = tuple(
        Affine(scipy.sparse.csr_array(random.normal(0, 0.1, (after, before))), np.zeros(after))
        for before, after in pairwise(widths)
    )
    return partial(evaluate, kind, keys.public(CONTEXT), queries, [EncryptedHead(layers)] * count)


def _seconds(case: Case, way: Executor | None) -> float:
    began = time.perf_counter()
    if way is None:
        for part in case.parts:
            part()
    else:
        for made in [way.submit(part) for part in case.parts]:
            made.result()
    return time.perf_counter() - began


if __name__ == "__main__":
    main()
