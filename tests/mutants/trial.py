"""One run of some tests in a separate process, with or without a fault in the code that they import."""

from __future__ import annotations

import gc
import os
import resource
import sys
import tempfile
import traceback
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import spec_from_file_location
from multiprocessing.connection import Connection
from pathlib import Path
from types import CodeType, ModuleType

import pytest
from hypothesis import Phase, settings

TAIL = 3000
"""Characters of a run's output that are kept."""


@dataclass(frozen=True)
class Verdict:
    """How a run ended.

    Attributes:
        failed: the tests that failed, by node id; with a fault, only the first.
        status: pytest's exit status.
        imported: whether the module with the fault was imported.
        seconds: processor time, including imports and ended child processes.
        output: the end of the output.
    """

    failed: tuple[str, ...]
    status: int
    imported: bool
    seconds: float
    output: str


@dataclass
class Planted(MetaPathFinder):
    """Imports one module from changed source, whatever its file says."""

    module: str
    path: Path
    source: str
    imported: bool = False

    def find_spec(self, fullname: str, path: object, target: ModuleType | None = None) -> ModuleSpec | None:
        """Return the spec of this module; None for others."""
        if fullname != self.module:
            return None
        self.imported = True
        places = [str(self.path.parent)] if self.path.name == "__init__.py" else None
        loader = _Changed(fullname, str(self.path), self.source)
        return spec_from_file_location(fullname, self.path, loader=loader, submodule_search_locations=places)


class _Changed(SourceFileLoader):
    def __init__(self, fullname: str, path: str, source: str) -> None:
        super().__init__(fullname, path)
        self._source = source

    def get_code(self, fullname: str) -> CodeType:
        return compile(self._source, self.path, "exec", dont_inherit=True)


class _Failures:
    """A pytest plugin that records which tests failed."""

    def __init__(self) -> None:
        self.failed: list[str] = []

    def pytest_collection(self) -> None:
        """Skip the search for simpler failing examples: only the failure itself counts."""
        quick = settings(settings.default, phases=[Phase.explicit, Phase.generate])
        settings.register_profile("mutants", quick)
        settings.load_profile("mutants")

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed and report.nodeid not in self.failed:
            self.failed.append(report.nodeid)


def run(
    killers: Sequence[str], root: Path, planted: Planted | None, bytecode: str, reply: Connection
) -> None:
    """Run tests of the repository at `root`, and send the verdict.

    Compiled files are kept in the folder `bytecode`, for the next process.
    """
    sys.dont_write_bytecode, sys.pycache_prefix = False, bytecode
    os.setsid()
    gc.freeze()
    os.chdir(root)
    with tempfile.TemporaryDirectory() as scratch, tempfile.TemporaryFile("w+") as printed:
        os.environ["HYPOTHESIS_STORAGE_DIRECTORY"] = scratch
        os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
        os.dup2(printed.fileno(), 1)
        os.dup2(printed.fileno(), 2)
        if planted is not None:
            sys.meta_path.insert(0, planted)
        found = _Failures()
        status = _pytest([*_options(scratch, first=planted is not None), *killers], found)
        sys.stdout.flush()
        printed.seek(0)
        output = printed.read()[-TAIL:]
    imported = planted is not None and planted.imported
    reply.send(Verdict(tuple(found.failed), status, imported, _seconds(), output))


def _pytest(arguments: Sequence[str], plugin: object) -> int:
    try:
        return int(pytest.main([*arguments], [plugin]))
    except BaseException:
        traceback.print_exc(file=sys.stdout)
        return int(pytest.ExitCode.INTERNAL_ERROR)


def _options(scratch: str, *, first: bool) -> list[str]:
    """Return options that keep nothing in the working tree and draw the same examples every time."""
    plugins = ["no:cacheprovider", "pytest_timeout", "_hypothesis_pytestplugin"]
    options = [word for plugin in plugins for word in ("-p", plugin)]
    options += ["-W", "ignore:Module already imported:pytest.PytestAssertRewriteWarning"]
    options += ["-q", "--tb=short", "-o", "addopts=", "--assert=plain", "--strict-markers"]
    options += ["--hypothesis-seed=0", "--basetemp", f"{scratch}/pytest"]
    return [*options, "-x"] if first else options


def _seconds() -> float:
    used = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(one.ru_utime + one.ru_stime for one in used)
