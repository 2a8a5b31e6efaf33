"""A guardian's process as it serves."""

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ostraka.protos.ostraka.v1 import guardian_pb2
from tests.guardian.federation import PARTIES, Calls, Federation, unanimous
from tests.guardian.verified_batch import Batch, verified

SERVING = """
import json, sys
from pathlib import Path
from ostraka.guardian.serving.server import running

with running(Path(sys.argv[1])) as address:
    print(address, flush=True)
    for _ in sys.stdin:
        print(json.dumps(list(sys.modules)), flush=True)
"""
"""Serves a folder until nobody asks any more, and says on every line that comes what is imported."""


@pytest.fixture
def process(tmp_path: Path) -> Iterator[tuple[Calls, Callable[[], set[str]]]]:
    """Serve in a process of its own; yield calls to it, and what tells which modules it has imported."""
    federation = Federation(tmp_path)
    command = [sys.executable, "-c", SERVING, str(federation.guardian_folder)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as serving:
        assert serving.stdin is not None
        assert serving.stdout is not None
        asking, told = serving.stdin, serving.stdout
        calls = Calls(federation, told.readline().strip())

        def imported() -> set[str]:
            print(file=asking, flush=True)
            return set(json.loads(told.readline()))

        yield calls, imported
        calls.close()
        asking.close()


@pytest.mark.heavy
def test_no_call_imports_anything(process: tuple[Calls, Callable[[], set[str]]]) -> None:
    calls, imported = process
    before = imported()
    calls.prepare_all()
    session = calls.open().session_id
    calls.ticket(session, 1, 20)
    calls.release(session, 1, calls.vote(session, 1, unanimous(20)))
    batch = Batch(calls, verified(nonce=bytes(16)))
    batch.vote()
    assert batch.verify() == []
    assert list(calls.prepare(batch.session, 1).frozen) == list(PARTIES)
    batch.release(PARTIES)
    calls.query.Standing(guardian_pb2.StandingRequest())
    assert calls.spent() > 0
    assert imported() - before == set()
