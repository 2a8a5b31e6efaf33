"""Models of other makers behind the wire: exported files, thresholds, and models that break."""

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from typer.testing import CliRunner

from ostraka.common.datasets import digits, save
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.sharing.ballots import single_label
from ostraka.services.cli import app
from ostraka.services.teachers import Ensemble, TrainingConfig, train
from ostraka.services.teachers.thresholds import Thresholds
from tests.services.conftest import symptoms
from tests.services.teachers.exported.test_models import write
from tests.services.wire import TEACHERS, Federation

FIRST = 40
"""Digits asked about."""


class Unsure(nn.Module):
    """Logits of a linear layer, no numbers where the image's sixth pixel is dark."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(64, 10)

    def forward(self, X: Tensor) -> Tensor:
        flat = X.flatten(1)
        logits: Tensor = self.linear(flat) / flat[:, 5:6].gt(0)
        return logits


def run(*arguments: object) -> None:
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    if result.exception is not None:
        raise result.exception


def asked(made: Federation) -> NDArray[np.float32]:
    return made.task.prepare(digits().X[:FIRST])


@pytest.mark.heavy
def test_exported_models_are_taken_and_vote_and_one_without_numbers_votes_for_the_fixed_class(
    attica: Federation,
) -> None:
    torch.manual_seed(0)
    nets = [Unsure() for _ in range(TEACHERS)]
    (attica.party / "models").mkdir()
    for row, kind in enumerate(("export", "script", "export")):
        write(nets[row], attica.party / "models" / f"{row}.pt2", kind, shape=attica.task.input.shape)
    save(digits(), attica.party / "records.npz")
    run("train", "--site", attica.party, "--model", "file:models", "--data", attica.party / "records.npz")
    X = asked(attica)
    dark = X[:, 5] == 0
    assert 0 < dark.sum() < FIRST
    with torch.no_grad():
        votes = np.stack([net.linear(torch.from_numpy(X)).argmax(dim=1).numpy() for net in nets])
    votes[:, dark] = 0
    with attica.serving() as caller:
        assert np.array_equal(caller.ballots(caller.vote(caller.ask(X))), single_label(votes, 10))


@pytest.mark.heavy
def test_ballots_count_each_teachers_yes_from_its_thresholds_on(clinics: Federation) -> None:
    folder, records = clinics.party / "teachers", symptoms(150)
    config = TrainingConfig(teachers=TEACHERS, model="random_forest", thresholds="per_label")
    ensemble = train(records, clinics.task, config, seed=1)
    X = clinics.task.prepare(records.X)
    plain = Ensemble(ensemble.manifest, ensemble.models).predict(X)
    ensemble.thresholds = Thresholds(np.random.default_rng(0).uniform(0.1, 0.9, (TEACHERS, 5)))
    ensemble.save(folder)
    yes = plain >= ensemble.thresholds.values[:, None]
    assert not np.array_equal(yes, plain >= 0.5)
    with clinics.serving() as caller:
        assert np.array_equal(caller.ballots(caller.vote(caller.ask(X))), yes.sum(axis=0))


@pytest.mark.parametrize("factory", ["no.such.module:build", "os:getcwd", "tests.services.exits:build"])
def test_teachers_whose_factory_is_gone_do_not_serve(attica: Federation, factory: str) -> None:
    folder = attica.party / "teachers"
    train(digits(), attica.task, TrainingConfig(teachers=TEACHERS, model="mlp", epochs=1), seed=0).save(
        folder
    )
    manifest = folder / "manifest.json"
    manifest.write_text(manifest.read_text().replace('"model": "mlp"', f'"model": "{factory}"'))
    with pytest.raises(OstrakaError, match=factory) as refused, attica.serving():
        pass
    assert refused.value.code is ErrorCode.MODEL_INVALID
    assert not attica.guardian.manifests


def test_a_plan_of_more_classes_is_refused_before_teachers_vote(attica: Federation) -> None:
    attica.replan(classes=11)
    with attica.serving() as caller, pytest.raises(OstrakaError) as refused:
        caller.vote(caller.ask(asked(attica)))
    assert refused.value.code is ErrorCode.TASK_MISMATCH
    assert not attica.guardian.submissions
