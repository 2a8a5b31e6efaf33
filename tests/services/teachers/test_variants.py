"""Teachers of records with consent levels, from training to votes."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from ostraka.common.datasets import Dataset, digits
from ostraka.common.task import Task, infer_task
from ostraka.services.teachers import Ensemble, TeachersManifest, TrainingConfig, accuracy, train
from ostraka.services.teachers.assignment import assign
from ostraka.services.teachers.config import Variant
from ostraka.services.teachers.manifest import GroupRecord, TeacherCohort

VARIANTS: tuple[Variant, ...] = ("none", "upsampling", "vanishing", "weighting")


@pytest.fixture(scope="module")
def records() -> Dataset:
    whole = digits().take(slice(0, 600))
    return replace(whole, consent=tuple(["low", "low", "high"] * 200))


@pytest.fixture(scope="module")
def task(records: Dataset) -> Task:
    return infer_task(records, "digits")


def config(variant: Variant, model: str = "logistic_regression") -> TrainingConfig:
    return TrainingConfig(
        teachers=6, model=model, epochs=15, variant=variant, consent={"low": 1.0, "high": 2.0}
    )


@pytest.mark.parametrize("model", ["logistic_regression", "mlp"])
@pytest.mark.parametrize("variant", VARIANTS)
def test_teachers_learn_and_come_back_from_their_folder(
    records: Dataset, task: Task, variant: Variant, model: str, tmp_path: Path
) -> None:
    trained = train(records, task, config(variant, model), seed=0)
    trained.save(tmp_path / "teachers")
    loaded = Ensemble.load(tmp_path / "teachers")
    assert loaded.manifest == trained.manifest
    asked = digits().take(slice(600, 900))
    X = task.prepare(asked.X)
    votes = loaded.predict(X)
    assert len(votes) == {"upsampling": 8}.get(variant, 6)
    assert accuracy(votes, asked.labels(), 10) > 0.8
    for cohort in loaded.manifest.cohorts:
        assert np.array_equal(loaded.predict(X, cohort.rows), votes[cohort.rows])


@pytest.mark.heavy
def test_groups_are_declared_as_trained(records: Dataset, task: Task) -> None:
    def declared(variant: Variant) -> tuple[list[GroupRecord], bool, tuple[TeacherCohort, ...]]:
        ensemble = train(records, task, config(variant), seed=0)
        assert ensemble.manifest.variant == variant
        manifest = ensemble.manifest
        return list(manifest.groups), manifest.mixed, manifest.cohorts

    def group(name: str, count: int, teachers: int, copies: int) -> GroupRecord:
        return GroupRecord(name=name, records=count, teachers=teachers, copies=copies)

    together = (TeacherCohort(("high", "low"), slice(0, 6)),)
    assert declared("none") == ([group("high", 200, 6, 1), group("low", 400, 6, 1)], True, together)
    assert declared("upsampling") == (
        [group("high", 200, 8, 2), group("low", 400, 8, 1)],
        True,
        (TeacherCohort(("high", "low"), slice(0, 8)),),
    )
    apart = (TeacherCohort(("high",), slice(0, 2)), TeacherCohort(("low",), slice(2, 6)))
    for variant in ("vanishing", "weighting"):
        assert declared(variant) == ([group("high", 200, 2, 1), group("low", 400, 4, 1)], False, apart)


@pytest.mark.heavy
@pytest.mark.parametrize("variant", ["upsampling", "weighting"])
def test_one_changed_record_changes_the_teachers_it_was_given_to(
    records: Dataset, task: Task, variant: Variant
) -> None:
    changed = replace(records, X=records.X.copy(), y=(records.labels() + (np.arange(600) == 17)) % 10)
    changed.X[17] = 0
    rows = assign(records, config(variant), 0).slices
    owners = {teacher for teacher, part in enumerate(rows) if 17 in part}
    X = np.random.default_rng(0).random((3_000, 64), np.float32)
    before, after = (train(data, task, config(variant), seed=0).predict(X) for data in (records, changed))
    assert records.consent is not None
    assert records.consent[17] == "high"
    assert len(owners) == (2 if variant == "upsampling" else 1)
    assert set(np.flatnonzero((before != after).any(axis=1)).tolist()) == owners


def stored(**changes: object) -> dict[str, object]:
    """Return a manifest as it was written before there were groups."""
    return {
        "teachers": 4,
        "records": 20,
        "model": "mlp",
        "library": "torch",
        "training": "mlp",
        "task_digest": "0" * 64,
        "seed": 0,
        "classes": 3,
        "shape": (4,),
    } | changes


def test_a_manifest_without_groups_has_one() -> None:
    manifest = TeachersManifest.model_validate(stored())
    assert manifest.groups == (GroupRecord(name="all", records=20, teachers=4),)
    assert (manifest.mixed, manifest.variant) == (True, "none")
    assert manifest.cohorts == (TeacherCohort(("all",), slice(0, 4)),)


@pytest.mark.parametrize(
    ("mixed", "groups"),
    [
        (True, [("a", 20, 3)]),
        (True, [("a", 10, 4)]),
        (True, [("a", 10, 1), ("b", 10, 3)]),
        (False, [("a", 10, 4), ("b", 10, 4)]),
        (False, [("a", 10, 1), ("b", 11, 3)]),
        (True, []),
    ],
)
def test_groups_that_do_not_add_up_are_refused(mixed: bool, groups: list[tuple[str, int, int]]) -> None:
    named = [{"name": name, "records": records, "teachers": teachers} for name, records, teachers in groups]
    with pytest.raises(ValueError, match="do not add up"):
        TeachersManifest.model_validate(stored(mixed=mixed, groups=named))
