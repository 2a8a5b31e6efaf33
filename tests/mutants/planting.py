"""Faults tried two at a time, each in a process forked from one that has imported third-party packages."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Self

# Forked processes import gRPC before Ostraka, so they inherit the environment that Ostraka sets here.
import ostraka  # noqa: F401
from tests.mutants.fault import ROOT, Fault, FaultError
from tests.mutants.trial import Planted, Verdict, run

AT_ONCE = 2
LIMIT_S = 120.0
"""Seconds for the tests of one fault."""
CONTROL_S = 600.0
"""Seconds for all of them without any fault."""
LIBRARIES = (
    "alembic.command",
    "alembic.config",
    "cryptography.x509",
    "google.protobuf.message",
    "grpc",
    "grpc_health.v1.health",
    "grpc_reflection.v1alpha.reflection",
    "grpc_status.rpc_status",
    "hypothesis",
    "matplotlib.figure",
    "mpmath",
    "numpy",
    "prometheus_client",
    "psycopg",
    "pyarrow",
    "pydantic",
    "pytest",
    "rich.console",
    "safetensors.numpy",
    "scipy.optimize",
    "scipy.special",
    "scipy.stats",
    "skops.io",
    "sqlalchemy.orm",
    "structlog",
    "tenseal",
    "torch",
    "typer",
    "uvicorn",
)
"""Modules that are already imported in forked processes."""


@dataclass(frozen=True)
class Trial:
    """A fault and its result: `killed_by` a test, after seconds of processor time, or a `problem`."""

    fault: Fault
    killed_by: str = ""
    seconds: float = 0.0
    problem: str = ""


class Planter:
    """Starts runs of tests; safe to use from several threads."""

    def __init__(self, root: Path = ROOT, libraries: Sequence[str] = LIBRARIES) -> None:
        """Take the repository, and the modules that are imported once."""
        self.root = root
        self._bytecode = TemporaryDirectory()
        self._context = get_context("forkserver")
        self._context.set_forkserver_preload([*libraries])

    def __enter__(self) -> Self:
        """Return itself; compiled files are removed at the end of the block."""
        return self

    def __exit__(self, *_: object) -> None:
        """Remove compiled files."""
        self._bytecode.cleanup()

    def run(self, killers: Sequence[str], planted: Planted | None, limit_s: float) -> Verdict | None:
        """Return the verdict of some tests; None if they did not end in time or their process died."""
        ours, theirs = self._context.Pipe(duplex=False)
        process = self._context.Process(
            target=run, args=(killers, self.root, planted, self._bytecode.name, theirs)
        )
        process.start()
        theirs.close()
        try:
            return ours.recv() if ours.poll(limit_s) else None
        except EOFError:
            return None
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid or 0, signal.SIGKILL)
            process.join()

    def attempt(self, fault: Fault, limit_s: float = LIMIT_S) -> Trial:
        """Plant a fault and run its killer."""
        try:
            planted = Planted(fault.module, self.root / fault.file, fault.planted(self.root))
        except FaultError as exc:
            return Trial(fault, problem=str(exc))
        verdict = self.run([fault.killer], planted, limit_s)
        if verdict is None:
            return Trial(fault, problem=f"no verdict: the process died, or took {limit_s:g} s")
        if not verdict.imported:
            return Trial(fault, problem=f"{fault.killer} does not import {fault.module}\n{verdict.output}")
        if verdict.status != 1 or not verdict.failed:
            problem = "survived" if verdict.status == 0 else f"pytest ended with {verdict.status}"
            return Trial(fault, seconds=verdict.seconds, problem=f"{problem}\n{verdict.output}")
        return Trial(fault, verdict.failed[0], verdict.seconds)

    def control(self, faults: Iterable[Fault]) -> str:
        """Run the killers of faults with no fault planted; return what is wrong, empty if nothing."""
        verdict = self.run(sorted({fault.killer for fault in faults}), None, CONTROL_S)
        if verdict is None:
            return f"no verdict: the process died, or took {CONTROL_S:g} s"
        return "" if verdict.status == 0 else "\n".join([*verdict.failed, verdict.output])


def attempts(planter: Planter, faults: Sequence[Fault], tell: Callable[[Trial], None]) -> Iterator[Trial]:
    """Yield a trial of every fault, in order; each is also reported as soon as it is known."""

    def attempt(fault: Fault) -> Trial:
        trial = planter.attempt(fault)
        tell(trial)
        return trial

    with ThreadPoolExecutor(AT_ONCE) as pool:
        yield from pool.map(attempt, faults)
