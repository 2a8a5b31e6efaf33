"""Free text as features: hashed words, the same at every site."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from ostraka.common.errors import OstrakaError
from ostraka.common.task import Task, load_task
from ostraka.deploy.task.task_file import explain

TEXT = """name = "triage"
label = "urgency"
classes = ["low", "high"]

[input]
kind = "table"
preprocessing = "range"
columns = [
    { name = "age", min = 0, max = 120 },
    { name = "note", kind = "text", width = 16 },
    { name = "fever", kind = "boolean" },
]
"""
NOTES = ["Chest pain, chest tight", "", "chest PAIN", None, "pain"]


def task(folder: Path, text: str = TEXT) -> Task:
    path = folder / "task.toml"
    path.write_text(text)
    return load_task(path)


def table(notes: list[str | None]) -> pa.Table:
    rows = len(notes)
    return pa.table({"fever": [True] * rows, "note": pa.array(notes, pa.string()), "age": [60] * rows})


def test_words_count_for_the_features_that_their_hashes_say(tmp_path: Path) -> None:
    triage = task(tmp_path)
    data = triage.read(table(NOTES))
    assert triage.columns == ("age", *(f"note #{index}" for index in range(16)), "fever")
    assert (data.X[:, 0].tolist(), data.X[:, -1].tolist()) == ([60] * 5, [1] * 5)
    words = data.X[:, 1:-1]
    # The hash is a part of the agreement: all versions and machines must have the same.
    assert [np.flatnonzero(text).tolist() for text in words] == [[0, 2, 6, 10, 15], [], [0, 2, 6], [], [0]]
    np.testing.assert_allclose((words**2).sum(axis=1), [1, 0, 1, 0, 1], rtol=1e-6)
    prepared = triage.prepare(data.X)
    np.testing.assert_array_equal(prepared[:, 1:-1], words)
    assert prepared.shape == (5, len(triage.features)) == (5, 18)


def test_every_form_of_a_table_has_the_same_words(tmp_path: Path) -> None:
    triage = task(tmp_path)
    path = tmp_path / "records.csv"
    path.write_text('age,note,fever\n60,"Chest pain, chest tight",yes\n60,,yes\n')
    np.testing.assert_array_equal(triage.load(path).X, triage.read(table(NOTES[:2])).X)


def test_widths_and_words_are_part_of_the_task(tmp_path: Path) -> None:
    digests = {
        task(tmp_path, TEXT.replace("width = 16", width)).digest
        for width in ("width = 16", "width = 32", "width = 16, words = 1")
    }
    assert len(digests) == 3
    shown = explain(task(tmp_path))
    assert "columns: 3, which make 18 features" in shown
    assert "text, 16 features of up to 2 words" in shown


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (("width = 16", "width = 16385"), "width"),
        (("width = 16", "words = 4"), "words"),
        (('{ name = "fever", kind = "boolean" }', '{ name = "note", min = 0, max = 1 }'), "named twice"),
        (('label = "urgency"', 'label = "note"'), "both a feature and the label"),
    ],
)
def test_columns_of_text_that_make_no_sense_are_refused(
    tmp_path: Path, change: tuple[str, str], named: str
) -> None:
    with pytest.raises(OstrakaError, match=named):
        task(tmp_path, TEXT.replace(*change))


def test_what_is_no_text_is_refused(tmp_path: Path) -> None:
    odd = table(NOTES).set_column(1, "note", pa.array([[1]] * 5))
    with pytest.raises(OstrakaError, match=r"column 'note' \(text\) holds values of type list"):
        task(tmp_path).read(odd)
    with pytest.raises(OstrakaError, match="add the missing column 'note'"):
        task(tmp_path).read(table(NOTES).drop_columns(["note"]))
