"""Files that do not fit the task: refused before anybody is asked, with a sentence that names what is off."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ostraka.client.run.site import CheckResult, check
from ostraka.common.errors import ErrorCode, OstrakaError
from tests.client.driving import run, run_of
from tests.client.federation import CLASSES, Federation

GOOD: dict[str, Any] = {
    "X": np.full((4, 2), 0.5),
    "y": np.array([0, 1, 2, 0]),
    "columns": np.array(["first", "second"]),
    "classes": np.array(CLASSES),
}
BAD: list[tuple[dict[str, Any], ErrorCode, str]] = [
    (
        {"X": np.ones((4, 3)), "columns": np.array(["first", "second", "z"])},
        ErrorCode.TASK_MISMATCH,
        "z",
    ),
    (
        {"columns": np.array(["second", "first"])},
        ErrorCode.TASK_MISMATCH,
        "from 'second' on, in another order",
    ),
    ({"X": np.full((4, 2), 9.0)}, ErrorCode.TASK_MISMATCH, "Column 'first' has 9"),
    ({"X": np.full((4, 2), np.nan)}, ErrorCode.DATA_NAN, "column 'first'"),
    ({"X": np.full(4, 0.5)}, ErrorCode.DATA_SHAPE, "shape"),
    ({"y": np.array([0, 1, 2, 3])}, ErrorCode.DATA_LABEL_RANGE, "label 3"),
    ({"y": np.array([0, 1])}, ErrorCode.DATA_SHAPE, "labels"),
    ({"classes": np.array(["ant", "bee", "dog"])}, ErrorCode.DATA_LABEL_RANGE, "dog"),
]
NAMES = ["extra column", "order", "range", "nan", "shape", "label", "labels", "classes"]


def write(path: Path, **changes: Any) -> Path:
    np.savez(path, **{**GOOD, **changes})
    return path


def test_records_that_fit_are_counted(federation: Federation, tmp_path: Path) -> None:
    alike = check(federation.site, write(tmp_path / "d.npz"))
    assert alike == CheckResult("insects", 4, 4, repeated=3, reading=())
    assert check(federation.site, federation.pool) == CheckResult("insects", 10, 0, repeated=0, reading=())


def test_a_pool_of_which_some_are_labelled_is_read_as_it_is_asked_about(
    federation: Federation, tmp_path: Path
) -> None:
    table = tmp_path / "pool.csv"
    table.write_text("first,second,label\n0,0,ant\n0.5,0.5,\n1,1,cat\n")
    found = check(federation.site, table)
    assert (found.records, found.labelled) == (3, 2)
    assert not any("Left out" in sentence for sentence in found.reading)
    table.write_text("first,second,label\n0,0,ant\n1,1,cat\n")
    assert check(federation.site, table).labelled == 2
    table.write_text("first,second,label\n0,0,ant\n1,1,wolf\n")
    found = check(federation.site, table)
    assert (found.records, found.labelled) == (2, 0)
    assert "whose labels are not read" in found.reading[-1]
    assert "wolf" in found.reading[-1]


@pytest.mark.parametrize(("changes", "code", "said"), BAD, ids=NAMES)
def test_a_file_that_does_not_fit_is_refused_everywhere(
    federation: Federation, tmp_path: Path, changes: dict[str, Any], code: ErrorCode, said: str
) -> None:
    bad = write(tmp_path / "bad.npz", **changes)
    federation.pool.unlink()
    bad.rename(federation.pool)
    calls: list[Callable[[], object]] = [
        lambda: check(federation.site, federation.pool),
        lambda: run(federation),
    ]
    for call in calls:
        with pytest.raises(OstrakaError) as refused:
            call()
        assert refused.value.code is code
        assert said in refused.value.message
    assert not federation.guardian.plans
    assert not run_of(federation).exists()


def test_a_missing_file_is_named(federation: Federation) -> None:
    with pytest.raises(OstrakaError) as refused:
        check(federation.site, federation.root / "none.csv")
    assert refused.value.code is ErrorCode.DATA_MISSING
    assert "none.csv" in refused.value.message


def test_a_table_is_read_by_the_tasks_label_column(federation: Federation, tmp_path: Path) -> None:
    table = tmp_path / "d.csv"
    table.write_text("first,second,label\n0.5,0.5,bee\n1,0,cat\n")
    found = check(federation.site, table)
    assert (found.task, found.records, found.labelled) == ("insects", 2, 2)
    assert found.reading == ("Read as UTF-8, its cells parted by commas.",)


def test_the_task_may_lie_elsewhere(federation: Federation, tmp_path: Path) -> None:
    moved = (federation.site / "task.toml").rename(tmp_path / "other.toml")
    assert check(federation.site, federation.pool, task_file=moved).records == 10
    with pytest.raises(OstrakaError, match="There is no task file") as refused:
        check(federation.site, federation.pool)
    assert refused.value.code is ErrorCode.CONFIG_INVALID


def test_another_roles_folder_is_refused(federation: Federation) -> None:
    site = federation.site / "site.toml"
    site.write_text(site.read_text().replace('role = "query"', 'role = "admin"'))
    with pytest.raises(OstrakaError) as refused:
        check(federation.site, federation.pool)
    assert refused.value.code is ErrorCode.CONFIG_INVALID
    assert "acts as admin" in refused.value.message
