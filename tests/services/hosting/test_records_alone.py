"""A party whose records answer sums alone: of a number, or because it trains nobody."""

import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner, Result

from ostraka.common.config import load_section
from ostraka.common.datasets import from_arrays, save
from ostraka.common.datasets.label_columns import UNKNOWN
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.learning.device import Device
from ostraka.common.mechanism import GnMax, Moments, NoiseCluster
from ostraka.common.plan.plan import Plan
from ostraka.common.sums.codes import LabelCodes
from ostraka.common.sums.questions import ColumnStatistic, Rows, StatisticsQuestion
from ostraka.common.task import Task, write_task
from ostraka.deploy.site.role_check import teachers as check_teachers
from ostraka.guardian.members.registration import problem_of
from ostraka.services.admission.manifest_terms import declaration
from ostraka.services.admission.policy import PartyPolicy
from ostraka.services.cli import app
from ostraka.services.hosting.hosting import Hosted, Loader
from ostraka.services.hosting.prediction_thread import PredictionThread
from ostraka.services.teachers.manifest import TeachersManifest
from tests.services.folders import party_folder

INPUT: dict[str, Any] = {
    "kind": "table",
    "preprocessing": "range",
    "columns": [{"name": "age", "min": 0, "max": 100, "missing": "indicator"}],
}
CLASSES = Task.model_validate({"name": "t", "classes": ("a", "b"), "input": INPUT})
NUMBER = Task.model_validate(
    {"name": "t", "label": "wage", "target": {"kind": "number", "min": 0, "max": 300}, "input": INPUT}
)
AGES = np.append(np.arange(9, dtype=np.float32), np.nan)[:, None]
LEVELS = np.array(["low", "high"] * 5)
SUMS = '[policy]\nmechanisms = ["sums"]\n'


def party(root: Path, task: Task = NUMBER, more: str = SUMS, training: str = "") -> Path:
    folder = party_folder(root / "eretria", f'[training]\ndata = "records.npz"\n{training}{more}')
    y = np.arange(10) * 25.5 if task.target else np.arange(10) % 2
    y = np.stack([y, y], axis=1) if task.multi_label else y
    data = from_arrays(
        AGES, y, columns=("age",), consent=LEVELS, incomplete=True, numeric=task.target is not None
    )
    save(data, folder / "records.npz")
    write_task(task, folder / "task.toml")
    return folder


def invoke(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def refused(*arguments: object) -> OstrakaError:
    exception = invoke(*arguments).exception
    assert isinstance(exception, OstrakaError)
    return exception


@pytest.fixture
def thread() -> Iterator[PredictionThread]:
    with closing(PredictionThread(Device())) as made:
        yield made


def load(folder: Path, task: Task, thread: PredictionThread) -> Hosted:
    policy = load_section(folder, "policy", PartyPolicy)
    return Loader(folder, "eretria", task, policy, votes_per_person=1, thread=thread).load()


def asked(task: Task, mechanism: Any, **changes: Any) -> Plan:
    fields: dict[str, Any] = {
        "nonce": bytes(16),
        "task_digest": task.digest,
        "classes": task.outputs,
        "mechanism": mechanism,
        "parties": ("eretria",),
        "quorum": 1,
        "queries": 1,
        "batch_size": 1,
    }
    return Plan(**fields | changes)


def test_a_number_is_declared_without_teachers_and_held_as_it_is(
    tmp_path: Path, thread: PredictionThread
) -> None:
    folder = party(tmp_path)
    assert "10 records and no teachers yet fit" in invoke("check", "--site", folder).stdout
    assert "Declared 10 records, which answer only sums" in invoke("train", "--site", folder).stdout
    manifest = TeachersManifest.load(folder / "teachers")
    assert (manifest.teachers, manifest.classes, manifest.cohorts[0].groups) == (0, 1, ("high", "low"))
    assert problem_of(declaration(manifest, "eretria", 1).SerializeToString(), "eretria") is None
    hosted = load(folder, NUMBER, thread)
    hosted.probe()
    records = hosted.records
    assert records is not None
    order = np.argsort(records.y)
    assert records.y[order].tolist() == (np.arange(10) * 25.5).tolist()
    assert records.y.dtype == np.float64
    np.testing.assert_array_equal(records.codes[order], AGES)
    np.testing.assert_allclose(records.features[order][:9, 0], AGES[:9, 0] / 100, rtol=1e-6)
    assert records.features[order][9].tolist() == [0, 1]
    assert records.groups[order].tolist() == [1, 0] * 5
    assert records.features is records.X


def test_checks_and_status_speak_of_records_alone(tmp_path: Path) -> None:
    folder = party(tmp_path)
    invoke("train", "--site", folder)
    said = invoke("check", "--site", folder)
    assert "10 records and no teachers fit the task" in said.stdout
    assert "Its records answer only sums" in said.stdout
    assert json.loads(invoke("check", "--site", folder, "--json", "-").stdout)["teachers"] == 0
    assert "10 records of the task answer only sums" in check_teachers(folder).sentence


@pytest.mark.parametrize("training", ["", "teachers = 3\n"])
def test_a_site_of_classes_may_train_nobody(tmp_path: Path, training: str, thread: PredictionThread) -> None:
    folder = party(tmp_path, CLASSES, training=training)
    assert "Declared 10 records" in invoke("train", "--site", folder, "--teachers", 0).stdout
    hosted = load(folder, CLASSES, thread)
    assert hosted.records is not None
    assert (hosted.records.classes, hosted.records.holds_classes) == (2, True)


def test_teachers_of_numbers_are_refused(tmp_path: Path) -> None:
    stated = refused("train", "--site", party(tmp_path, training="teachers = 3\n"))
    assert stated.code is ErrorCode.TASK_NUMERIC
    assert "ostraka query fit" in stated.message
    assert refused("train", "--site", party(tmp_path), "--teachers", 2).code is ErrorCode.TASK_NUMERIC
    alone = refused("train", "--site", party(tmp_path), "--training", "dp-ttac")
    assert "give --teachers, or leave out --training" in alone.message


@pytest.mark.parametrize(
    ("task", "more", "code", "said"),
    [
        (NUMBER, "", ErrorCode.CONFIG_INVALID, 'add mechanisms = ["sums"] to [policy]'),
        (CLASSES, "", ErrorCode.CONFIG_INVALID, 'add mechanisms = ["sums"] to [policy]'),
        (NUMBER, '[policy]\nlabel_counts = "record"\n', ErrorCode.TASK_NUMERIC, "label_counts or"),
    ],
)
def test_records_that_may_answer_nothing_are_not_served(
    tmp_path: Path, task: Task, more: str, code: ErrorCode, said: str, thread: PredictionThread
) -> None:
    folder = party(tmp_path, task, more, "teachers = 0\n")
    assert invoke("train", "--site", folder).exit_code == 0
    with pytest.raises(OstrakaError, match=r"\w") as refusal:
        load(folder, task, thread)
    assert refusal.value.code is code
    assert said in refusal.value.message


def test_records_that_nobody_names_are_asked_for_as_such(tmp_path: Path, thread: PredictionThread) -> None:
    folder = party(tmp_path)
    file = folder / "site.toml"
    file.write_text(file.read_text().replace('data = "records.npz"', ""))
    trained = invoke("train", "--site", folder, "--data", folder / "records.npz")
    assert "It answers no sums yet: name its records as data in [training]" in trained.stdout
    with pytest.raises(OstrakaError, match="no records are named: add data") as refusal:
        load(folder, NUMBER, thread)
    assert refusal.value.code is ErrorCode.CONFIG_INVALID


def test_sums_are_over_no_more_records_of_a_person_than_may_count(
    tmp_path: Path, thread: PredictionThread
) -> None:
    known = {"name": "t", "id": "pid", "persons": True, "classes": ("a", "b"), "input": INPUT}
    task = Task.model_validate(known)
    folder = party(tmp_path, CLASSES, training="teachers = 0\n")
    data = CLASSES.load(folder / "records.npz")
    persons = ["a", "b", "a", "c", "a", "b", "a", "c", "a", "c"]
    save(data.with_ids(persons), folder / "records.npz")
    write_task(task, folder / "task.toml")
    assert invoke("train", "--site", folder).exit_code == 0
    hosted = load(folder, task, thread)
    assert hosted.records is not None
    summed = {group.name: (group.records, group.summed_records) for group in hosted.manifest.groups}
    assert summed == {"low": (5, 1), "high": (5, 2)}
    assert problem_of(hosted.manifest.SerializeToString(), "eretria") is None
    question = StatisticsQuestion((ColumnStatistic(0, 0, 10, 10),))
    rows = Rows(hosted.records.codes, hosted.records.features, hosted.records.y)
    (counts,) = question.blocks(rows.take(hosted.records.groups >= 0))
    # An age is the record's place, and the last record has none.
    there = np.append(counts[:9], counts[-1])
    assert sorted(persons[place] for place in np.flatnonzero(there)) == ["a", "b", "c"]


def test_labels_that_a_party_abstains_from_add_nothing_to_sums(
    tmp_path: Path, thread: PredictionThread
) -> None:
    task = Task.model_validate({"name": "t", "classes": ("a", "b"), "multi_label": True, "input": INPUT})
    abstaining = 'teachers = 0\nabstains = ["b"]\n'
    folder = party(tmp_path, task, training=abstaining)
    (folder / "records.csv").write_text("age,a\n" + "".join(f"{age},{age % 2}\n" for age in range(10)))
    site = folder / "site.toml"
    site.write_text(site.read_text().replace("records.npz", "records.csv"))
    assert invoke("train", "--site", folder).exit_code == 0
    records = load(folder, task, thread).records
    assert records is not None
    assert set(records.y[:, 1]) == {UNKNOWN}
    assert records.y[:, 0].sum() == 5
    codes = LabelCodes(np.full(2, 0.25), 1.0)(records.y)
    assert not codes[:, 1].any()
    assert codes[:, 0].all()


def test_votes_are_refused_and_what_records_answer_is_not(tmp_path: Path, thread: PredictionThread) -> None:
    folder = party(tmp_path, CLASSES, '[policy]\nlabel_counts = "record"\n', "teachers = 0\n")
    invoke("train", "--site", folder)
    terms = load(folder, CLASSES, thread).terms
    with pytest.raises(OstrakaError, match="records but no teachers") as refusal:
        terms._check_voters(asked(CLASSES, GnMax(sigma=1)))
    assert refusal.value.code is ErrorCode.PARTY_NO_TEACHERS
    terms._check_voters(asked(CLASSES, NoiseCluster(sigma=1)))
    terms._check_voters(asked(CLASSES, Moments(columns=2, codes=2, sigma=1)))


def test_sums_are_of_encoded_features_and_votes_of_prepared_records(
    tmp_path: Path, thread: PredictionThread
) -> None:
    encoder = 'encoder = "tests.services.hosting.test_records_alone:doubling"\n'
    folder = party(tmp_path, training=encoder)
    invoke("train", "--site", folder)
    manifest = TeachersManifest.load(folder / "teachers")
    assert (manifest.encoder_sha256 != "", manifest.shape) == (True, (3,))
    records = load(folder, NUMBER, thread).records
    assert records is not None
    np.testing.assert_allclose(records.features[:, 0], 2 * records.X.sum(axis=1), rtol=1e-6)
    assert records.X.shape == (10, 2)


def doubling() -> Any:
    """Return a network from 2 features to 3, each twice their sum."""
    import torch

    layer = torch.nn.Linear(2, 3, bias=False)
    torch.nn.init.constant_(layer.weight, 2.0)
    return layer
