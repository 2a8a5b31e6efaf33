"""A disk that is full in the middle of a run: one sentence, nothing lost, nothing charged twice."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from ostraka.client.run.labelling import LabelResult
from ostraka.common.errors import OstrakaError
from ostraka.guardian.admin.client import admin_call
from ostraka.guardian.admin.upkeep import back_up
from ostraka.guardian.ledger import LedgerReader
from ostraka.guardian.ledger.log import audit
from ostraka.protos.ostraka.v1 import admin_pb2
from tests.deploy.whole import PARTIES, QUERIES, Whole, build
from tests.disk import fill, free, small_disk

KILOBYTES = 1500
BATCH = QUERIES // 4
"""Small: the second one may be voted on before the first is over."""


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Whole:
    return build(tmp_path_factory.mktemp("built"))


@pytest.fixture(params=["guardian", "athens", "run"])
def disk(built: Whole, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Path]:
    """Yield the folder of one member, or of the run, on a disk of its own; the rest is next to it."""
    built.copied(tmp_path)
    folder = tmp_path / request.param
    content = tmp_path / "content"
    if folder.exists():
        folder.rename(content)
    with small_disk(folder, KILOBYTES):
        if content.exists():
            shutil.copytree(content, folder, dirs_exist_ok=True)
        yield folder


def spent(whole: Whole) -> dict[str, float]:
    request = admin_pb2.ListBudgetsRequest()
    budgets = admin_call(whole.folder("ops"), lambda stub: list(stub.ListBudgets(request)))
    return {budget.party: budget.epsilon_worst_case for budget in budgets}


@pytest.fixture(scope="module")
def expected(built: Whole, tmp_path_factory: pytest.TempPathFactory) -> dict[str, float]:
    """Return the cost of the run where nothing goes wrong."""
    whole = built.copied(tmp_path_factory.mktemp("undisturbed"))
    with whole.guardian(), whole.parties():
        assert whole.label(whole.root / "run", batch=BATCH).answered == QUERIES
        return spent(whole)


@pytest.mark.heavy
def test_a_run_goes_on_once_there_is_room(disk: Path, built: Whole, expected: dict[str, float]) -> None:
    whole = Whole(disk.parent, built.ca)
    run = whole.root / "run"

    def fill_after_the_first_batch(result: LabelResult) -> None:
        if result.asked == BATCH:
            fill(disk)

    with whole.guardian(), whole.parties():
        with pytest.raises(OstrakaError) as refused:
            whole.label(run, on_progress=fill_after_the_first_batch, batch=BATCH)
        assert "storage.full" in f"{refused.value.code} {refused.value.message}"
        assert f"no room on the disk of {disk}" in refused.value.message
        free(disk)
        result = whole.label(run, batch=BATCH)
        assert (result.asked, result.answered, result.stopped) == (QUERIES, QUERIES, None)
        assert spent(whole) == expected
    assert sorted(expected) == sorted(PARTIES)


def test_a_backup_that_finds_no_room_leaves_nothing(built: Whole, tmp_path: Path) -> None:
    whole = built.copied(tmp_path / "whole")
    with whole.guardian(), small_disk(tmp_path / "disk", 64) as disk:
        with pytest.raises(OstrakaError, match=f"no room on the disk of {disk}") as refused:
            back_up(whole.folder("guardian"), disk / "backup.db")
        assert refused.value.code == "storage.full"
        assert not list(disk.iterdir())
        assert back_up(whole.folder("guardian"), tmp_path / "backup.db") > 0
    with LedgerReader.open_read_only(tmp_path / "backup.db") as kept:
        assert kept.read(audit.head).sequence > 0
