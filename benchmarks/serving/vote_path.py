"""Overhead of a vote over the model's forward pass: mutual TLS, gRPC, micro-batches, shares, the journal."""

import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from rich.table import Table

from benchmarks.serving.party import Party, serving
from ostraka.deploy.simulation.processes import Start, fresh
from ostraka.services.teachers import Ensemble
from ostraka.services.teachers.nets import Networks

BATCH = 1000  # queries per batch


@dataclass(frozen=True)
class Case:
    """A model, and the load of concurrent sessions on it.

    Attributes:
        name: of the model, for people.
        model: its name in a party's configuration.
        shape: of one image.
        repeats: number of runs of forward pass, ensemble and vote, alternately; the shortest counts.
        sessions: number of concurrent sessions, each with `batches` of `size` queries, one after the other.
    """

    name: str
    model: str
    shape: tuple[int, ...]
    repeats: int
    sessions: int
    size: int
    batches: int


@dataclass(frozen=True)
class VotePath:
    """Measurements of one model.

    Attributes:
        forward_s: the plain forward pass on a batch of `BATCH` queries.
        ensemble_s: the same by a party's ensemble, in this process.
        vote_s: from the queries of one session to its share of the ballots.
        concurrent_rows_s: queries per second that concurrent sessions get votes on.
        p50_s: median of the seconds for one of their batches.
        p99_s: 99th percentile.
    """

    case: Case
    forward_s: float
    ensemble_s: float
    vote_s: float
    concurrent_rows_s: float
    p50_s: float
    p99_s: float

    @property
    def of_forward(self) -> float:
        """Queries per second of one session's votes, as a fraction of the forward pass's."""
        return self.forward_s / self.vote_s

    @property
    def of_ensemble(self) -> float:
        """The same as a fraction of the ensemble's, which may be faster than the plain forward pass."""
        return self.ensemble_s / self.vote_s

    @property
    def concurrent_of_forward(self) -> float:
        """Queries per second of all concurrent sessions, as a fraction of the forward pass's."""
        return self.concurrent_rows_s * self.forward_s / BATCH


CASES = (
    Case("cnn", "cnn", (28, 28), repeats=100, sessions=16, size=100, batches=16),
    Case(
        "ResNet-18",
        "benchmarks.serving.resnet18:resnet18",
        (3, 32, 32),
        repeats=3,
        sessions=4,
        size=50,
        batches=4,
    ),
)


def vote_paths(cases: Sequence[Case] = CASES, start: Start = fresh) -> Iterator[VotePath]:
    """Yield each case, one party after the other; guardian and parties are processes on this machine."""
    for case in cases:
        with serving(case.model, case.shape, start) as party:
            alone = _alone(party, case.repeats)
            yield VotePath(case, *alone, *_concurrent(party, case))


def _alone(party: Party, repeats: int) -> tuple[float, float, float]:
    """Return seconds of forward pass, ensemble and vote without other load; each has a warm-up run.

    The first two run on a thread of their own, as in a party: a process's main thread spins while it waits
    for others, which is slow on busy cores.
    """
    X = queries(party, BATCH)
    ensemble = Ensemble.load(party.teachers)
    forward = _forward(party, X)
    with ThreadPoolExecutor(1) as device, party.session(X, repeats + 1) as votes:
        seconds = [
            (
                device.submit(_seconds, forward).result(),
                device.submit(_seconds, lambda: ensemble.predict(X)).result(),
                _seconds(vote),
            )
            for vote in votes
        ]
    shortest = np.min(seconds[1:], axis=0)
    return float(shortest[0]), float(shortest[1]), float(shortest[2])


def _concurrent(party: Party, case: Case) -> tuple[float, float, float]:
    """Return queries per second, then p50 and p99 of seconds per batch, with all sessions concurrent."""
    X = queries(party, case.size)
    with ExitStack() as stack:
        asked = [stack.enter_context(party.session(X, case.batches)) for _ in range(case.sessions)]
        pool = stack.enter_context(ThreadPoolExecutor(case.sessions))
        start = time.perf_counter()
        seconds = list(pool.map(lambda votes: [_seconds(vote) for vote in votes], asked))
        total = time.perf_counter() - start
    p50, p99 = np.percentile(seconds, [50, 99])
    return case.sessions * case.batches * case.size / total, float(p50), float(p99)


def queries(party: Party, count: int) -> NDArray[np.float32]:
    """Return `count` random queries."""
    columns = len(party.task.features)
    return party.task.prepare(np.random.default_rng(1).uniform(0, 255, (count, columns)))


def _forward(party: Party, X: NDArray[np.float32]) -> Callable[[], object]:
    """Return the party's network as torch evaluates it, from an array to an array."""
    ensemble = Ensemble.load(party.teachers)
    assert isinstance(ensemble.models, Networks)
    (net,) = ensemble.models.nets
    shape = ensemble.manifest.shape
    device = next(net.parameters()).device

    @torch.inference_mode()
    def forward() -> object:
        return net(torch.from_numpy(X).reshape(-1, *shape).to(device)).argmax(dim=1).cpu().numpy()

    return forward


def _seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def vote_table(measured: Sequence[VotePath]) -> Table:
    """Return a table with a row for each model."""
    table = Table(
        "model",
        "forward rows/s",
        "ensemble rows/s",
        "vote rows/s",
        "vote / forward",
        "vote / ensemble",
        "sessions x batch",
        "rows/s",
        "rows/s / forward",
        "p50 ms",
        "p99 ms",
        title=f"Votes on batches of {BATCH} in one session, and in concurrent ones",
    )
    for one in measured:
        table.add_row(
            one.case.name,
            *(f"{BATCH / seconds:,.0f}" for seconds in (one.forward_s, one.ensemble_s, one.vote_s)),
            f"{one.of_forward:.2f}",
            f"{one.of_ensemble:.2f}",
            f"{one.case.sessions} x {one.case.size}",
            f"{one.concurrent_rows_s:,.0f}",
            f"{one.concurrent_of_forward:.2f}",
            *(f"{1e3 * seconds:,.0f}" for seconds in (one.p50_s, one.p99_s)),
        )
    return table
