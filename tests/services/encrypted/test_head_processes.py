"""Heads with squares, evaluated in processes as they would be in this one."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from ostraka.common.crypto.heads import EncryptedHead
from ostraka.common.crypto.transcripts import frame_keys
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.services.encrypted import head_processes as module
from ostraka.services.encrypted.head_process import SharedBatch
from ostraka.services.encrypted.head_processes import HeadProcesses, head_processes, parts
from tests.common.crypto.models import CONTEXT, SEED, Sides, opened, random_head

RNG = np.random.default_rng(0)
X = RNG.uniform(0, 1, (5, 3))
PRECISION = 2**-10
PROCESSES = 2


@pytest.fixture(scope="module")
def square() -> Sides:
    return Sides.of("square-mlp")


@pytest.fixture(scope="module")
def message(square: Sides) -> bytes:
    return frame_keys(square.keys.public(CONTEXT)) + square.keys.encrypt(X)


@pytest.fixture(scope="module")
def heads() -> list[EncryptedHead]:
    return [random_head(RNG, (3, 2, outputs), X) for outputs in (2, 3, 1)]


@pytest.fixture
def processes() -> Iterator[HeadProcesses]:
    made = HeadProcesses(PROCESSES)
    yield made
    made.close()


@pytest.mark.heavy
def test_logits_are_those_of_one_process(
    square: Sides, message: bytes, heads: list[EncryptedHead], processes: HeadProcesses
) -> None:
    here = list(square.evaluator().logits(heads, square.keys.encrypt(X), SEED, len(X)))
    for _ in range(2):
        there = list(processes.logits(message, heads, SEED, len(X)))
        assert [made.shares.tolist() for made in there] == [made.shares.tolist() for made in here]
        for head, made in zip(heads, there, strict=True):
            assert np.abs(opened(square.keys, made) - head.plain(X)).max() < PRECISION
    assert len(processes.pids) <= PROCESSES


@pytest.mark.heavy
def test_processes_that_are_killed_are_replaced(
    message: bytes, heads: list[EncryptedHead], processes: HeadProcesses
) -> None:
    before = list(processes.logits(message, heads, SEED, len(X)))
    killed = processes.pids
    for pid in killed:
        assert pid is not None
        os.kill(pid, signal.SIGKILL)
    after = list(processes.logits(message, heads[:1], SEED, len(X)))
    assert [made.shares.tolist() for made in after] == [made.shares.tolist() for made in before[:1]]
    assert not killed & processes.pids


@pytest.mark.heavy
def test_what_is_no_message_is_refused_and_the_process_goes_on(
    message: bytes, heads: list[EncryptedHead], processes: HeadProcesses
) -> None:
    with pytest.raises(OstrakaError) as refused:
        list(processes.logits(message[:-1], heads, SEED, len(X)))
    assert refused.value.code is ErrorCode.MESSAGE_INVALID
    kept = processes.pids
    assert len(list(processes.logits(message, heads, SEED, len(X)))) == len(heads)
    assert kept <= processes.pids


class Dying:
    """A process that ends whatever it is asked."""

    pid = None
    asked = 0

    def knows(self, batch: SharedBatch) -> bool:
        return False

    def evaluate(self, batch: SharedBatch, part: object) -> None:
        Dying.asked += 1
        raise EOFError

    def end(self) -> None:
        """Nothing is left to end."""

    close = end


def test_processes_that_end_again_are_told_and_none_evaluates_once_closed(
    heads: list[EncryptedHead], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "HeadProcess", Dying)
    monkeypatch.setattr(Dying, "asked", 0)
    processes = HeadProcesses(1)
    with pytest.raises(OstrakaError, match="OMP_NUM_THREADS") as failed:
        list(processes.logits(b"", heads, SEED, 1))
    assert (failed.value.code, processes.pids) == (ErrorCode.PROCESS_FAILED, frozenset())
    assert Dying.asked == module.ATTEMPTS
    processes.close()
    with pytest.raises(OstrakaError) as stopped:
        list(processes.logits(b"", heads, SEED, 1))
    assert stopped.value.code is ErrorCode.SERVER_STOPPING


def test_every_head_is_in_one_part_and_parts_are_alike(
    heads: list[EncryptedHead], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "ROWS", 4)
    for count in (1, 2, 5):
        made = parts(heads * 5, count)
        assert [head for part in made for head in part.heads] == heads * 5
        assert [part.first for part in made] == [
            sum(len(p.heads) for p in made[:i]) for i in range(len(made))
        ]
        assert max(len(part.heads) for part in made) - min(len(part.heads) for part in made) <= 1


@pytest.mark.parametrize(
    ("quota", "most"), [("max 100000", None), ("150000 100000", 2), ("50000 100000", 1), ("?", None)]
)
def test_a_containers_quota_bounds_its_cores(
    quota: str, most: int | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "GROUPS", tmp_path)
    here = module.cores()
    (tmp_path / module.QUOTA).write_text(quota)
    assert module.cores() == (here if most is None else min(most, here))


def test_one_core_has_no_further_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "cores", lambda: 1)
    with head_processes() as processes:
        assert processes is None


@pytest.mark.parametrize("here", [module.MAX_PROCESSES, module.MAX_PROCESSES + 1])
def test_many_cores_have_so_many_processes_and_no_more(here: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "cores", lambda: here)
    monkeypatch.setattr("ostraka.services.teachers.layouts.layouts.threads", lambda: here)
    with head_processes() as processes:
        assert processes is not None
        assert processes._count == module.MAX_PROCESSES
