"""examples/resnet18_encoder.py: published weights load by their names, and teachers train behind it."""

from pathlib import Path

import numpy as np
import pytest
import torch

from ostraka.common.datasets import from_arrays
from ostraka.common.learning.device import HOST, Device
from ostraka.common.learning.encoders import load_encoder
from ostraka.common.task import infer_task
from ostraka.services.teachers import TrainingConfig, train
from tests.fake_card import FakeCards

EXAMPLES = Path(__file__).parents[1] / "examples"
NAME = "resnet18_encoder:encoder"
PUBLISHED = {
    "conv1.weight": (64, 3, 7, 7),
    "bn1.running_mean": (64,),
    "layer1.1.conv2.weight": (64, 64, 3, 3),
    "layer2.0.downsample.0.weight": (128, 64, 1, 1),
    "layer2.0.downsample.1.running_var": (128,),
    "layer4.1.bn2.bias": (512,),
    "fc.weight": (1000, 512),
    "fc.bias": (1000,),
}
"""Some of the arrays of torchvision's file, which has 11,689,512 parameters in all."""


def weights(file: Path, seed: int) -> Path:
    """Write weights of the published names and shapes."""
    from resnet18_encoder import ResNet18  # type: ignore[import-not-found]

    torch.manual_seed(seed)
    state = dict(ResNet18().state_dict())
    state |= {"fc.weight": torch.zeros(1000, 512), "fc.bias": torch.zeros(1000)}
    assert PUBLISHED.items() <= {name: tuple(value.shape) for name, value in state.items()}.items()
    counted = sum(v.numel() for n, v in state.items() if not n.endswith(("_mean", "_var", "_tracked")))
    assert counted == 11_689_512
    torch.save(state, file)
    return file


@pytest.mark.heavy
def test_teachers_train_behind_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(EXAMPLES))
    digests = []
    for seed in (1, 1, 2):
        monkeypatch.setenv("RESNET18_WEIGHTS", str(weights(tmp_path / f"{seed}.pth", seed)))
        digests.append(load_encoder(NAME).sha256)
    assert digests[0] == digests[1] != digests[2]
    lit = np.arange(24) % 2
    images = np.zeros((24, 28, 28))
    images[lit == 1, 8:20, 8:20] = 1.0
    data = from_arrays(images, lit)
    task = infer_task(data, "squares")
    config = TrainingConfig(teachers=2, model="logistic_regression", encoder=NAME)
    ensemble = train(data, task, config, seed=0)
    assert ensemble.manifest.shape == (512,)
    assert (ensemble.predict(task.prepare(data.X)) == lit).all()


@pytest.mark.heavy
def test_it_encodes_on_a_card_as_on_the_cpu(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cards: FakeCards
) -> None:
    monkeypatch.syspath_prepend(str(EXAMPLES))
    monkeypatch.setenv("RESNET18_WEIGHTS", str(weights(tmp_path / "drawn.pth", 1)))
    X = np.random.default_rng(0).random((2, 784), np.float32)
    here, there = (load_encoder(NAME, device).encode(X) for device in (HOST, Device("cuda")))
    np.testing.assert_allclose(here, there, rtol=1e-4, atol=1e-5)
    assert cards.most[0]
