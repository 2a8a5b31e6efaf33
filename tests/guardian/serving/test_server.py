"""A guardian's process as it serves: by which noise, and that its calls import nothing."""

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.noise import ExactNoise, self_test
from ostraka.common.noise.random_words import system_bytes
from ostraka.guardian.ledger.site import LEDGER_FILE
from ostraka.guardian.noise import choice
from ostraka.guardian.noise.opendp_noise import OpenDpNoise
from ostraka.guardian.serving.server import running
from ostraka.protos.ostraka.v1 import guardian_pb2
from tests.guardian.federation import PARTIES, Calls, Federation, refusal, unanimous
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


def test_a_sampler_that_fails_its_self_test_serves_nobody(
    federation: Federation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(self_test, "_KNOWN", "")
    with pytest.raises(OstrakaError, match="self-test") as refused, running(federation.guardian_folder):
        raise AssertionError("it serves")
    assert refused.value.code == ErrorCode.NOISE_SELF_TEST
    assert not (federation.guardian_folder / LEDGER_FILE).exists()


def test_noise_is_drawn_by_what_site_toml_names(
    federation: Federation, monkeypatch: pytest.MonkeyPatch
) -> None:
    tested: list[object] = []
    monkeypatch.setattr(choice, "check_source", tested.append)
    site = federation.guardian_folder / "site.toml"
    site.write_text('noise = "opendp"\n' + site.read_text())
    with running(federation.guardian_folder):
        assert [type(source) for source in tested] == [OpenDpNoise]


@pytest.mark.heavy
def test_without_entropy_nothing_is_released_or_charged(federation: Federation) -> None:
    gone = False

    def bytes_or_none(size: int) -> bytes:
        if gone:
            raise OstrakaError(ErrorCode.NOISE_NO_ENTROPY, "No bytes.")
        return system_bytes(size)

    with federation.guardian(ExactNoise(bytes_or_none)) as guardian:
        guardian.prepare_all()
        session = guardian.open().session_id
        gone = True
        guardian.ticket(session, 1, 20)
        total = guardian.vote(session, 1, unanimous(20, label=2))
        before = guardian.spent()
        assert refusal(lambda: guardian.release(session, 1, total)) == "noise.no_entropy"
        assert guardian.spent() == before
        gone = False
        assert guardian.release(session, 1, total) == [(True, 2)] * 20
