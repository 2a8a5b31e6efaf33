from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from ostraka.common.datasets import Dataset
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.task import Task, write_task
from ostraka.deploy.simulation.settings import Settings
from ostraka.deploy.simulation.split import Split, split_data


def ids(data: Dataset) -> set[float]:
    return set(data.X[:, 0].tolist())


def parts(split: Split) -> list[Dataset]:
    return [*split.shards, split.labelled, split.pool, split.test]


@pytest.fixture
def single(tmp_path: Path) -> str:
    """200 records whose first column is their number."""
    file = tmp_path / "single.csv"
    rows = "".join(f"{n},{n % 7},{'abc'[n % 3]}\n" for n in range(200))
    file.write_text("number,x,kind\n" + rows)
    return str(file)


def settings(data: str, **changes: object) -> Settings:
    base = {"data": data, "label": "kind", "parties": 3, "teachers": 2, "labelled": 20, "queries": 40}
    return Settings.model_validate(base | changes)


def test_every_record_has_one_holder(single: str) -> None:
    split = split_data(settings(single))
    held = parts(split)
    assert sum(map(len, held)) == 200
    assert set().union(*map(ids, held)) == set(map(float, range(200)))


def test_what_is_odd_about_a_table_is_noted(tmp_path: Path) -> None:
    path = tmp_path / "odd.csv"
    path.write_text("x;same;kind\n" + "".join(f"{n},5;1;{'ab'[n % 2]}\n" for n in range(200)))
    read = "Read as UTF-8, its cells parted by semicolons."
    decimal = "Column 'x': numbers written with decimal comma."
    assert split_data(settings(str(path))).notes == (read, decimal, "Column 'same' has one value only.")


def test_how_a_table_was_read_for_a_given_task_is_noted(tmp_path: Path) -> None:
    path = tmp_path / "odd.csv"
    path.write_text("x,kind\n" + "".join(f"{n or -999},{'ab'[n % 2]}\n" for n in range(200)))
    columns = [{"name": "x", "min": 0, "max": 150, "clip": True}]
    fields = {"name": "t", "label": "kind", "classes": ["a", "b"]}
    task = Task.model_validate(fields | {"input": {"kind": "table", "columns": columns}})
    write_task(task, tmp_path / "task.toml")
    notes = split_data(settings(str(path), task_file=str(tmp_path / "task.toml"))).notes
    assert notes[1:] == (
        "Column 'x': values beyond its range that count as its end: 50 of 200; has -999, which may stand for"
        " a missing value: leave it empty there.",
    )


def test_everyone_gets_their_share(single: str) -> None:
    split = split_data(settings(single))
    assert (len(split.labelled), len(split.pool), len(split.test)) == (20, 40, 40)
    assert [len(shard) for shard in split.shards] == [34, 33, 33]


def test_the_pool_has_no_labels_and_the_truth_fits_it(single: str) -> None:
    split = split_data(settings(single))
    assert split.pool.y is None
    np.testing.assert_array_equal(split.truth, split.pool.X[:, 0].astype(int) % 3)


def test_the_seed_fixes_the_split(single: str) -> None:
    first, again, other = (split_data(settings(single, seed=seed)) for seed in (1, 1, 2))
    assert ids(first.pool) == ids(again.pool) != ids(other.pool)


def test_a_files_own_test_records_are_the_querying_partys(tmp_path: Path) -> None:
    numbers, file = np.arange(300.0), tmp_path / "split.npz"
    train, test = numbers[:200, None], numbers[200:, None]
    np.savez(file, X_train=train, y_train=np.arange(200) % 3, X_test=test, y_test=np.arange(100) % 3)
    split = split_data(settings(str(file)))
    assert set().union(*map(ids, split.shards)) == set(range(200))
    assert ids(split.labelled) | ids(split.pool) | ids(split.test) == set(range(200, 300))


def test_a_multi_label_truth_has_every_label_of_the_pool(tmp_path: Path) -> None:
    numbers, file = np.arange(200), tmp_path / "several.npz"
    labels = np.stack([numbers % 2, numbers % 3 == 0, numbers % 5 == 0], axis=1)
    np.savez(file, X=numbers[:, None], y=labels)
    split = split_data(settings(str(file)))
    held = parts(split)
    assert sum(map(len, held)) == len(set().union(*map(ids, held))) == 200
    assert (split.pool.y, split.truth.shape) == (None, (40, 3))
    np.testing.assert_array_equal(split.truth, labels[split.pool.X[:, 0].astype(int)])
    assert {part.classes for part in held} == {("label0", "label1", "label2")}


def test_multi_label_test_records_of_their_own_are_the_querying_partys(tmp_path: Path) -> None:
    file, labels = tmp_path / "split.npz", np.tile([[0, 1], [1, 1]], (100, 1))
    np.savez(
        file,
        X_train=np.arange(200)[:, None],
        y_train=labels,
        X_test=np.arange(200, 400)[:, None],
        y_test=labels,
    )
    split = split_data(settings(str(file)))
    assert set().union(*map(ids, split.shards)) == set(range(200))
    assert split.test.labels().tolist() == labels[split.test.X[:, 0].astype(int) - 200].tolist()


def test_a_table_names_its_label_columns(tmp_path: Path) -> None:
    path = tmp_path / "records.csv"
    rows = [f"{row},{row % 2},{row % 3 == 0:d}" for row in range(200)]
    path.write_text("\n".join(["x,sick,old", *rows]))
    split = split_data(
        Settings(data=str(path), label="sick,old", mechanism="binary", parties=2, labelled=10, queries=20)
    )
    assert split.test.classes == ("sick", "old")
    x = split.pool.X[:, 0].astype(int)
    np.testing.assert_array_equal(split.truth, np.column_stack([x % 2, x % 3 == 0]))


def test_parties_may_hold_one_class_each(single: str) -> None:
    split = split_data(settings(single, split="label-sorted", similarity=0))
    assert {part.X.shape[1] for part in parts(split)} == {2}
    held = np.stack([np.bincount(shard.labels(), minlength=3) for shard in split.shards])
    assert held.sum() == 100
    assert (np.sort(held, axis=1)[:, :-1].sum(axis=1) <= 17).all()
    assert len(np.unique(split.truth)) == 3


def test_parties_may_differ_by_a_dirichlet_or_a_column(single: str) -> None:
    for chosen in ({"split": "dirichlet", "alpha": 1.0}, {"split": "column", "by": "x"}):
        split = split_data(settings(single, **chosen))
        held = parts(split)
        assert sum(map(len, held)) == len(set().union(*map(ids, held))) == 200
    values = [set(shard.X[:, 1].tolist()) for shard in split.shards]
    assert all(max(lower) < min(upper) for lower, upper in pairwise(values))


def test_consent_levels_are_given_out_whatever_the_split(single: str) -> None:
    split = split_data(
        settings(single, split="label-sorted", similarity=0, consent="low=0.5,high=0.5", epsilon=40)
    )
    levels = [shard.consent or () for shard in split.shards]
    assert [len(level) for level in levels] == [34, 33, 33]
    assert all(abs(level.count("low") - len(level) / 2) <= 1 for level in levels)


@pytest.mark.parametrize(
    ("chosen", "told"),
    [
        ({"split": "column", "by": "y"}, r"no column 'y', but number, x;"),
        ({"split": "column", "by": "kind"}, "'kind' is the label"),
        ({"split": "column", "by": "x", "parties": 9, "teachers": 1}, "'x' has 7 values for 9 parties"),
    ],
)
def test_a_column_that_cannot_tell_parties_apart_is_refused(
    single: str, chosen: dict[str, object], told: str
) -> None:
    with pytest.raises(OstrakaError, match=told) as caught:
        split_data(settings(single, **chosen))
    assert caught.value.code == ErrorCode.CONFIG_INVALID


@pytest.mark.parametrize(
    "chosen", [{"split": "label-sorted", "similarity": 0}, {"split": "dirichlet", "alpha": 1}]
)
def test_records_of_several_labels_are_in_no_class(tmp_path: Path, chosen: dict[str, object]) -> None:
    file = tmp_path / "several.npz"
    np.savez(file, X=np.arange(200)[:, None], y=np.tile([[0, 1], [1, 1]], (100, 1)))
    with pytest.raises(OstrakaError, match="have several labels each") as caught:
        split_data(settings(str(file), **chosen))
    assert caught.value.code == ErrorCode.CONFIG_INVALID
    assert sum(map(len, split_data(settings(str(file), split="column", by="x0")).shards)) == 100


def test_a_party_with_fewer_records_than_teachers_is_named(single: str) -> None:
    with pytest.raises(OstrakaError, match=r"gives party-\d \d+ of 100 records, for 30 teachers") as caught:
        split_data(settings(single, split="dirichlet", alpha=0.01, teachers=30))
    assert caught.value.code == ErrorCode.DATA_TOO_FEW


def test_digits_need_no_file() -> None:
    split = split_data(Settings())
    assert sum(map(len, parts(split))) == 1797
    assert split.labelled.classes == tuple("0123456789")


@pytest.mark.parametrize("changes", [{"queries": 160}, {"teachers": 1000}, {"labelled": 200}])
def test_data_that_do_not_go_round_are_refused(single: str, changes: dict[str, int]) -> None:
    with pytest.raises(OstrakaError, match="too few") as caught:
        split_data(settings(single, **changes))
    assert caught.value.code == ErrorCode.DATA_TOO_FEW


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(OstrakaError, match=r"gone\.npz") as caught:
        split_data(settings(str(tmp_path / "gone.npz")))
    assert caught.value.code == ErrorCode.DATA_MISSING


def test_where_features_are_shared_the_pool_is_all_parties_records(single: str) -> None:
    split = split_data(settings(single, label_dp="ldp-ssl", mechanism="rand_res", adjacency="label"))
    assert ids(split.pool) == set().union(*map(ids, split.shards))
    assert len(split.pool) == sum(map(len, split.shards)) == 140
    assert split.pool.y is None
    np.testing.assert_array_equal(split.truth, split.pool.X[:, 0].astype(int) % 3)


def test_every_querying_party_has_a_pool_of_its_own(single: str) -> None:
    split = split_data(settings(single, queriers=2, queries=30))
    assert len(split.pool) == len(ids(split.pool)) == 60


def test_persons_of_several_records_have_one_consent_level_and_their_pool_ids_of_its_own(
    tmp_path: Path,
) -> None:
    file = tmp_path / "visits.csv"
    rows = "".join(f"p{n // 2},{n},{n % 7},{'abc'[n % 3]}\n" for n in range(200))
    file.write_text("patient_id,number,x,kind\n" + rows)
    split = split_data(settings(str(file), consent="low=0.5,high=0.5", epsilon=40))
    assert len(set(split.pool.ids or ())) == 40
    for shard in split.shards:
        levels = dict[str, set[str]]()
        for one, level in zip(shard.ids or (), shard.consent or (), strict=True):
            levels.setdefault(one, set()).add(level)
        assert any(len(shard.ids or ()) > len(levels) for _ in levels)
        assert all(len(known) == 1 for known in levels.values())


def test_a_person_is_at_one_place(tmp_path: Path) -> None:
    file = tmp_path / "visits.csv"
    rows = "".join(f"p{n // 3},{n},{n % 7},{'ab'[n % 2]}\n" for n in range(300))
    file.write_text("patient_id,number,x,kind\n" + rows)
    split = split_data(settings(str(file), labelled=10, queries=20))
    asking = {
        name.split(" ")[0] for part in (split.labelled, split.pool, split.test) for name in part.ids or ()
    }
    holders = [asking, *(set(shard.ids or ()) for shard in split.shards)]
    assert all(holders)
    assert len(set().union(*holders)) == sum(map(len, holders))
    left_out = 300 - sum(map(len, parts(split)))
    assert f"{left_out} records of ids that the querying party has are with no party." in split.notes
    assert left_out > 0
