"""Three parties whose teachers are boosted by three libraries, on real servers, and a boosted student."""

import shutil
from pathlib import Path

import numpy as np
import pytest

from ostraka.client.retraining import retrain
from ostraka.client.students.files import load_student
from ostraka.client.students.trainers import Choice
from ostraka.deploy.simulation.federation import QUERY
from ostraka.services.teachers.config import TrainingConfig
from ostraka.services.teachers.training import train
from tests.client.students import own_models
from tests.e2e.sites import SETTINGS, Sites
from tests.e2e.test_parties_down import require_right_sums
from tests.services.teachers.factories import HERE

MODELS = {"xgboost": ".xgboost.json", "lightgbm": ".lightgbm.json", f"{HERE}:boosted": ".skops"}


def train_boosted(sites: Sites) -> None:
    for (model, suffix), site, shard in zip(MODELS.items(), SETTINGS.sites, sites.split.shards, strict=True):
        folder: Path = sites.folder / site / "teachers"
        shutil.rmtree(folder)
        config = TrainingConfig(teachers=SETTINGS.teaching.teachers, model=model)
        train(shard, sites.task, config, seed=0).save(folder)
        assert len(list(folder.glob(f"*{suffix}"))) == SETTINGS.teaching.teachers


@pytest.mark.heavy
def test_labels_are_the_plurality_of_boosted_teachers_and_teach_a_boosted_student(sites: Sites) -> None:
    train_boosted(sites)
    sites.start()
    assert sites.label().answered == SETTINGS.records.queries
    require_right_sums(sites)
    answers = sites.state.answers()
    right = [answers[row] == truth for row, truth in enumerate(sites.split.truth)]
    assert np.mean(right) > 0.5
    site = sites.folder / QUERY
    choice = Choice(model=f"{own_models.__name__}:boosted")
    result = retrain(site, site / "labelled.npz", sites.run, site / "pool.npz", choice=choice)
    assert result.released == SETTINGS.records.queries
    assert load_student(result.path).predict(np.zeros((3, 64), np.float32)).shape == (3,)
