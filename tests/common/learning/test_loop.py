from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.learning.augmentation import augmentation
from ostraka.common.learning.checkpoint import State
from ostraka.common.learning.data import Labelled
from ostraka.common.learning.early_stopping import evaluate
from ostraka.common.learning.fixmatch import FixMatchObjective
from ostraka.common.learning.learning import Learning, TrainingHistory
from ostraka.common.learning.lesson import Lesson
from ostraka.common.learning.loop import Draws, Training, learn
from ostraka.common.learning.networks import network
from ostraka.common.learning.objective import Objective, SupervisedObjective, TrainingStep
from ostraka.common.learning.training_run import TrainingRun
from tests.common.learning.clouds import CLASSES, SHORT, accuracy, clouds, labels
from tests.fake_card import FakeCards

VIEWS = augmentation((6,))


def trained(
    objective: Objective,
    labelled: Labelled,
    learning: Learning = SHORT,
    validation: Labelled | None = None,
    checkpoint: Path | None = None,
    seed: int = 0,
) -> tuple[nn.Module, TrainingHistory]:
    net = network((6,), CLASSES)
    pool = clouds(90, seed=1).X
    lesson = Lesson(
        objective=objective,
        labelled=labelled,
        unlabeled=pool,
        validation=validation,
        learning=learning,
        seed=seed,
    )
    return net, learn(net, lesson, TrainingRun(checkpoint=checkpoint))


def weights(net: nn.Module) -> Tensor:
    return torch.cat([value.flatten() for value in net.parameters()])


@pytest.mark.parametrize("kind", [SupervisedObjective, FixMatchObjective])
@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_few_labels_suffice_for_what_is_easy(
    kind: type[FixMatchObjective], precision: Literal["float32", "bfloat16"]
) -> None:
    learning = replace(SHORT, precision=precision)
    net, history = trained(kind(VIEWS), clouds(12), learning)
    test = clouds(300, seed=5)
    assert accuracy(evaluate(net, torch.from_numpy(test.X)).numpy(), test.y) > 0.9
    assert [look.step for look in history.looks] == [10, 20, 30, 40]
    assert history.kept == 40
    assert not net.training


@pytest.mark.parametrize("kind", [SupervisedObjective, FixMatchObjective])
def test_labels_are_learned_where_they_are_known(kind: type[FixMatchObjective]) -> None:
    net, _ = trained(kind(VIEWS, multi_label=True), labels(30), validation=labels(60, seed=2))
    test = clouds(300, seed=5)
    assert accuracy(evaluate(net, torch.from_numpy(test.X)).numpy(), test.y) > 0.9


@pytest.mark.heavy
def test_the_same_seed_gives_the_same_weights() -> None:
    first, same, other = (
        weights(trained(FixMatchObjective(VIEWS), clouds(12), seed=seed)[0]) for seed in (0, 0, 1)
    )
    assert torch.equal(first, same)
    assert not torch.equal(first, other)


class KilledError(Exception):
    """Stands for the end of the process."""


@dataclass(frozen=True)
class Killing:
    """FixMatch until a step at which the process ends."""

    algorithm: Objective
    at: list[int]

    def loss(
        self, net: nn.Module, labelled: tuple[Tensor, Tensor], unlabeled: Tensor, step: TrainingStep
    ) -> Tensor:
        if [step.number] == self.at:
            raise KilledError
        return self.algorithm.loss(net, labelled, unlabeled, step)

    def __repr__(self) -> str:
        return repr(self.algorithm)


@pytest.mark.heavy
def test_a_killed_training_goes_on_as_if_it_had_not_been(tmp_path: Path) -> None:
    data, validation, kept = clouds(14), clouds(30, seed=2), tmp_path / "training.ckpt"
    whole, history = trained(FixMatchObjective(VIEWS), data, validation=validation)
    for step in (14, 35):
        with pytest.raises(KilledError):
            trained(Killing(FixMatchObjective(VIEWS), [step]), data, validation=validation, checkpoint=kept)
        assert kept.exists()
    resumed, same = trained(
        Killing(FixMatchObjective(VIEWS), []), data, validation=validation, checkpoint=kept
    )
    assert torch.equal(weights(resumed), weights(whole))
    assert same == history
    assert not kept.exists()
    assert not list(tmp_path.iterdir())


def test_it_goes_on_from_the_checkpoint_and_not_from_the_start(tmp_path: Path) -> None:
    kept = tmp_path / "training.ckpt"
    with pytest.raises(KilledError):
        trained(Killing(FixMatchObjective(VIEWS), [35]), clouds(14), checkpoint=kept)
    trained(Killing(FixMatchObjective(VIEWS), [14]), clouds(14), checkpoint=kept)


@pytest.mark.parametrize("places", [("cpu", "cuda"), ("cuda", "cpu")])
def test_a_training_goes_on_on_another_device(
    tmp_path: Path, cards: FakeCards, places: tuple[str, str]
) -> None:
    kept, objective = tmp_path / "training.ckpt", SupervisedObjective(VIEWS)
    first, second = (replace(SHORT, device=place) for place in places)
    with pytest.raises(KilledError):
        trained(Killing(objective, [35]), clouds(14), first, checkpoint=kept)
    trained(Killing(objective, [14]), clouds(14), second, checkpoint=kept)
    assert cards.most[0]
    assert not kept.exists()


def test_a_generator_of_another_kind_draws_anew_by_seed_and_step() -> None:
    def draw(seed: int, steps: int) -> list[int]:
        lesson = Lesson(objective=SupervisedObjective(VIEWS), labelled=clouds(12), learning=SHORT, seed=seed)
        training = Training(network((6,), CLASSES), lesson)
        state = training.state()
        parts = {**state.parts, "random": {"state": torch.zeros(16, dtype=torch.uint8)}}
        training.resume(State({**state.notes, "done": steps}, parts))
        drawn: list[int] = training._draws.draw().tolist()
        return drawn

    assert draw(0, 10) == draw(0, 10)
    assert draw(0, 10) != draw(0, 20)
    assert draw(0, 10) != draw(1, 10)


@pytest.mark.heavy
@pytest.mark.parametrize("harm", ["other seed", "other data", "cut", "no safetensors"])
def test_a_checkpoint_of_another_training_is_not_used(tmp_path: Path, harm: str) -> None:
    kept = tmp_path / "training.ckpt"
    with pytest.raises(KilledError):
        trained(Killing(FixMatchObjective(VIEWS), [35]), clouds(14), checkpoint=kept)
    content = kept.read_bytes()
    if harm == "cut":
        kept.write_bytes(content[:-9])
    if harm == "no safetensors":
        kept.write_bytes(b"nothing")
    data = clouds(14, seed=7) if harm == "other data" else clouds(14)
    seed = int(harm == "other seed")
    expected, _ = trained(FixMatchObjective(VIEWS), data, seed=seed)
    found, _ = trained(FixMatchObjective(VIEWS), data, seed=seed, checkpoint=kept)
    assert torch.equal(weights(found), weights(expected))


@dataclass(frozen=True)
class Broken:
    """A loss that is not a number from a step on."""

    value: float
    step: int

    def loss(
        self, net: nn.Module, labelled: tuple[Tensor, Tensor], unlabeled: Tensor, step: TrainingStep
    ) -> Tensor:
        loss: Tensor = net(labelled[0]).sum()
        return loss * (self.value if step.number >= self.step else 0.0)


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
@pytest.mark.parametrize("step", [0, 15])
def test_a_loss_that_is_no_number_is_told(tmp_path: Path, value: float, step: int) -> None:
    kept = tmp_path / "training.ckpt"
    with pytest.raises(OstrakaError, match="smaller learning rate") as raised:
        trained(Broken(value, step), clouds(12), checkpoint=kept)
    assert raised.value.code is ErrorCode.MODEL_DIVERGED
    assert kept.exists() == (step > 10)


@dataclass(frozen=True)
class Turning:
    """Learns from some step on that every class is the next one."""

    step: int

    def loss(
        self, net: nn.Module, labelled: tuple[Tensor, Tensor], unlabeled: Tensor, step: TrainingStep
    ) -> Tensor:
        x, targets = labelled
        said = targets.roll(1, dims=1) if step.number >= self.step else targets
        return SupervisedObjective(VIEWS).loss(net, (x, said), unlabeled, step)


def test_a_network_that_gets_worse_stops_and_is_kept_as_it_was() -> None:
    told: list[tuple[int, int]] = []
    net, validation = network((6,), CLASSES), clouds(300, seed=2)
    learning = replace(SHORT, steps=200, evaluations=20, patience=3)
    lesson = Lesson(
        objective=Turning(50), labelled=clouds(60), validation=validation, learning=learning, seed=0
    )
    history = learn(net, lesson, TrainingRun(lambda done, total: told.append((done, total))))
    assert len(history.looks) < 20
    assert history.kept < history.looks[-3].step
    assert accuracy(evaluate(net, torch.from_numpy(validation.X)).numpy(), validation.y) > 0.9
    assert told[0] == (10, 200)
    assert told[-1] == (200, 200)


def test_logs_are_readable_by_tensorboard(tmp_path: Path) -> None:
    from tensorboard.backend.event_processing import event_accumulator as reader

    net = network((6,), CLASSES)
    lesson = Lesson(
        objective=SupervisedObjective(VIEWS),
        labelled=clouds(12),
        validation=clouds(9),
        learning=SHORT,
        seed=0,
    )
    history = learn(net, lesson, TrainingRun(log=tmp_path))
    events = reader.EventAccumulator(str(tmp_path)).Reload()
    for name, values in (
        ("loss", [look.loss for look in history.looks]),
        ("validation_error", [look.error or 0.0 for look in history.looks]),
    ):
        found = events.Scalars(name)
        assert [event.step for event in found] == [10, 20, 30, 40]
        np.testing.assert_allclose([event.value for event in found], values, rtol=1e-6)


def test_nothing_is_learned_from_nothing() -> None:
    with pytest.raises(OstrakaError) as raised:
        trained(SupervisedObjective(VIEWS), clouds(0))
    assert raised.value.code is ErrorCode.DATA_TOO_FEW


@pytest.mark.parametrize("off", [{"steps": 0}, {"batch_size": 1}, {"ema": 1.0}, {"learning_rate": 0.0}])
def test_impossible_learning_is_refused(off: dict[str, Any]) -> None:
    with pytest.raises(OstrakaError, match="Learning needs") as raised:
        replace(SHORT, **off)
    assert raised.value.code is ErrorCode.CONFIG_INVALID


def test_every_record_is_drawn_once_in_a_pass() -> None:
    draws = Draws(10, 4, torch.Generator().manual_seed(0))
    drawn = torch.cat([draws.draw() for _ in range(5)])
    assert sorted(drawn[:10].tolist()) == sorted(drawn[10:].tolist()) == list(range(10))
    assert len(Draws(0, 4, torch.Generator()).draw()) == 0
    assert len(Draws(3, 8, torch.Generator()).draw()) == 8
