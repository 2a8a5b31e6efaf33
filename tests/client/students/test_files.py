import json
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file
from sklearn.linear_model import LogisticRegression

from ostraka.client.students.files import load_student, save_student
from ostraka.client.students.neural import Neural
from ostraka.client.students.registry import make_student
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.learning.data import Labelled
from tests.common.learning.clouds import SHORT, clouds, labels

X = clouds(40, seed=3).X


def fitted(kind: str = "fixmatch", **options: Any) -> Neural:
    return make_student(kind, learning=SHORT, **options).learn_from(clouds(12), X, clouds(9, seed=2))


@pytest.mark.heavy
@pytest.mark.parametrize("kind", ["supervised", "fixmatch"])
def test_a_student_is_read_as_it_was_written(tmp_path: Path, kind: str) -> None:
    written = fitted(kind, seed=3)
    save_student(written, tmp_path / "deep" / "student")
    read = load_student(tmp_path / "deep" / "student")
    assert type(read) is type(written)
    np.testing.assert_array_equal(read.predict_proba(X), written.predict_proba(X))
    assert read.get_params() == written.get_params()
    assert read.history_ == written.history_
    assert read.classes_.tolist() == written.classes_.tolist()
    assert [path.name for path in (tmp_path / "deep").iterdir()] == ["student"]


@pytest.mark.heavy
def test_students_of_images_and_of_labels_are_read_as_well(tmp_path: Path) -> None:
    images = np.random.default_rng(0).normal(0, 1, (30, 64)).astype(np.float32)
    y = np.arange(30) % 2
    of_images = make_student("fixmatch", shape=(8, 8), classes=2, learning=SHORT).learn_from(
        Labelled(images, y)
    )
    several = make_student("supervised", learning=SHORT).learn_from(labels(30))
    for student, records in ((of_images, images), (several, X)):
        save_student(student, tmp_path / "student")
        read = load_student(tmp_path / "student")
        np.testing.assert_allclose(read.predict_proba(records), student.predict_proba(records), atol=1e-6)
        np.testing.assert_array_equal(read.predict(records), student.predict(records))


def test_a_model_of_scikit_learn_is_read_as_well(tmp_path: Path) -> None:
    model = LogisticRegression().fit(X, np.arange(40) % 3)
    save_student(model, tmp_path / "student.skops")
    read = load_student(tmp_path / "student.skops")
    np.testing.assert_array_equal(read.predict_proba(X), model.predict_proba(X))


@pytest.mark.heavy
def test_a_read_student_learns_again(tmp_path: Path) -> None:
    written = fitted(seed=1)
    save_student(written, tmp_path / "student")
    again = load_student(tmp_path / "student").learn_from(clouds(12), X, clouds(9, seed=2))
    np.testing.assert_array_equal(again.predict_proba(X), written.predict_proba(X))


def _header(path: Path) -> dict[str, Any]:
    content = path.read_bytes()
    length = int.from_bytes(content[:8], "little")
    parsed: dict[str, Any] = json.loads(
        json.loads(content[8 : 8 + length])["__metadata__"]["ostraka_student"]
    )
    return parsed


HARMS: dict[str, dict[str, Any]] = {
    "unknown student": {"student": "nobody"},
    "unknown parameter": {"parameters": {"shape": None, "wheels": 4}},
    "no parameters": {"parameters": None},
    "other network": {"outputs": 4},
    "huge claim": {"shape": [10**9]},
    "huge outputs": {"outputs": 10**12},
    "broken learning": {"learning": {"steps": 0}},
    "no history": {"history": {}},
}


@pytest.mark.parametrize("harm", sorted(HARMS))
def test_a_header_that_does_not_fit_the_weights_is_refused(tmp_path: Path, harm: str) -> None:
    path = tmp_path / "student"
    save_student(fitted(), path)
    header = _header(path) | HARMS[harm]
    save_file(load_file(path), path, {"ostraka_student": json.dumps(header)})
    _refused(path)


@pytest.mark.parametrize("weight", [torch.tensor(float("nan")), torch.tensor(0.0, dtype=torch.float64)])
def test_weights_that_nothing_can_be_computed_with_are_refused(tmp_path: Path, weight: torch.Tensor) -> None:
    path = tmp_path / "student"
    save_student(fitted(), path)
    header, tensors = {"ostraka_student": json.dumps(_header(path))}, load_file(path)
    tensors["net/6.bias"] = weight.expand_as(tensors["net/6.bias"]).contiguous()
    save_file(tensors, path, header)
    _refused(path)


@pytest.mark.parametrize(
    "content", [b"", b"PK nothing", b"\x80\x04K\x01.", b"\xff" * 64, b"\x02" + 7 * b"\0" + b"{}"]
)
def test_what_is_no_student_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "student"
    path.write_bytes(content)
    _refused(path)


@pytest.mark.heavy
def test_a_student_that_unpacks_to_more_than_it_holds_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "student.skops"
    with ZipFile(path, "w", ZIP_DEFLATED) as archive:
        archive.writestr("schema.json", b" " * ((64 << 20) + 1))
    with pytest.raises(OstrakaError) as refusal:
        load_student(path)
    assert refusal.value.code is ErrorCode.MODEL_INVALID


def test_a_damaged_student_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "student"
    save_student(fitted(), path)
    whole = path.read_bytes()
    path.write_bytes(whole[:-20])
    _refused(path)
    tensors = {"net/4.weight": torch.zeros(2)}
    save_file(tensors, path, {"ostraka_student": "{}"})
    _refused(path)


def _refused(path: Path) -> None:
    with pytest.raises(OstrakaError, match="ostraka query retrain") as raised:
        load_student(path)
    assert raised.value.code is ErrorCode.MODEL_INVALID


def test_a_missing_student_is_told(tmp_path: Path) -> None:
    with pytest.raises(OstrakaError) as raised:
        load_student(tmp_path / "student")
    assert raised.value.code is ErrorCode.DATA_MISSING


def test_a_file_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("a file where a folder is to be")
    with pytest.raises(OstrakaError, match="Cannot write") as raised:
        save_student(fitted(), tmp_path / "taken" / "student")
    assert raised.value.code is ErrorCode.CONFIG_INVALID


def test_nothing_is_left_of_what_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    with pytest.raises(OstrakaError):
        save_student(fitted(), tmp_path / "folder")
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]
