"""A guardian killed at any instruction loses at most what was not answered, and charges nothing twice."""

import os
import signal
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, event

from ostraka.guardian.ledger import Charge, Ledger
from ostraka.guardian.ledger.log import audit
from ostraka.guardian.ledger.sessions import batches, endings, releases
from tests.guardian.ledger.support import (
    ATHENS,
    SEAL,
    amounts,
    cipher,
    clock,
    in_child,
    release,
    sign,
    with_budgets,
)

COST = Charge(ATHENS, 60, 3)
Work = Callable[[Ledger], object]


def opened(path: Path) -> Ledger:
    return Ledger.open(path, clock=clock(), cipher=cipher(), sign_head=sign, seal=SEAL)


def die(*_: Any) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def die_at_statement(number: int) -> None:
    """From now on count statements, and die before the `number`-th."""
    seen = 0

    def count(*_: Any) -> None:
        nonlocal seen
        seen += 1
        if seen == number:
            die()

    event.listen(Engine, "before_cursor_execute", count)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    with with_budgets(opened(tmp_path / "ledger.db")):
        return tmp_path / "ledger.db"


def killed(path: Path, batch_id: int, arm: Callable[[], object], work: Work) -> bool:
    """Whether a process that opened a batch, then did `arm` and `work`, was killed on the way."""

    def child() -> None:
        ledger = opened(path)
        ledger.write_session("s", batches.open_batch, batch_id, 5, b"t", {ATHENS: 100})
        arm()
        work(ledger)

    return was_killed(child)


def was_killed(child: Callable[[], None]) -> bool:
    status = in_child(child)
    assert status == 0 or os.WIFSIGNALED(status), status
    return status != 0


def open_until_statement(path: Path, number: int) -> None:
    die_at_statement(number)
    opened(path)


def release_batch(batch_id: int) -> Work:
    return lambda ledger: release(ledger, batch_id, COST)


def check_batch(batch_id: int, ledger: Ledger) -> None:
    ledger.write_session("s", releases.check, batch_id, b"d" * 32, [COST])


@pytest.mark.heavy
def test_killed_before_any_statement_of_a_release(path: Path) -> None:
    for number in range(1, 100):
        dead = killed(path, number, partial(die_at_statement, number), release_batch(number))
        with opened(path) as ledger:
            stored = ledger.write_session("s", endings.settle, number)
            assert amounts(ledger) == ((0, 0) if dead else (60, 0))
            assert stored == (None if dead else b"answers")
        if not dead:
            assert number > 8
            return
    pytest.fail("a release runs more statements than this test kills it at")


@pytest.mark.heavy
def test_killed_before_any_statement_of_a_check(path: Path) -> None:
    for number in range(1, 100):
        check = partial(check_batch, number)
        dead = killed(path, number, partial(die_at_statement, number), check)
        with opened(path) as ledger:
            assert ledger.write_session("s", endings.settle, number) is None
            assert amounts(ledger) == ((0, 0) if dead else (60, 0))
        if not dead:
            assert number > 8
            return
    pytest.fail("a check runs more statements than this test kills it at")


def test_killed_before_the_commit_of_a_release(path: Path) -> None:
    assert killed(path, 1, lambda: event.listen(Engine, "commit", die), release_batch(1))
    with opened(path) as ledger:
        assert amounts(ledger) == (0, 0)
        assert ledger.write_session("s", endings.settle, 1) is None


def test_killed_after_the_answer_is_stored_and_before_it_is_sent(path: Path) -> None:
    def release_and_die(ledger: Ledger) -> None:
        release(ledger, 1, COST)
        die()

    assert killed(path, 1, lambda: None, release_and_die)
    with opened(path) as ledger:
        assert release(ledger, 1, COST, answers=b"fresh noise") == b"answers"
        assert amounts(ledger) == (60, 0)


@pytest.mark.heavy
def test_killed_while_the_ledger_is_made(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    number = 1
    while was_killed(partial(open_until_statement, path, number)):
        number += 1
    assert number > 8
    with opened(path) as ledger:
        assert ledger.read(audit.head).sequence == 3


@pytest.mark.heavy
def test_killed_while_recovering(path: Path) -> None:
    assert killed(path, 1, lambda: None, die)
    number = 1
    while was_killed(partial(open_until_statement, path, number)):
        number += 1
    assert number > 8
    with opened(path) as ledger:
        assert amounts(ledger) == (0, 0)
        assert ledger.write_session("s", endings.settle, 1) is None
