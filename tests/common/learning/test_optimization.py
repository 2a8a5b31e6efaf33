"""Torch's own optimizer and schedule are what these are compared with."""

import subprocess
import sys

import pytest
import torch
from torch import Tensor, nn

from ostraka.common.learning.optimization import AdamW, OneCycle

STEPS = 12


def net() -> nn.Linear:
    torch.manual_seed(0)
    return nn.Linear(5, 3)


def backward(net: nn.Linear, step: int) -> None:
    X = torch.randn(4, 5, generator=torch.Generator().manual_seed(step))
    net(X).square().sum().backward()


def weights(net: nn.Linear) -> Tensor:
    return torch.cat([net.weight.detach().flatten(), net.bias.detach()])


def learn(net: nn.Linear, optimizer: AdamW, steps: range) -> None:
    cycle = OneCycle(0.1, STEPS)
    for step in steps:
        optimizer.zero_grad()
        backward(net, step)
        optimizer.step(*cycle.at(step))


def test_weights_are_those_of_torch() -> None:
    ours, theirs = net(), net()
    learn(ours, AdamW(ours.parameters(), 0.01), range(STEPS))
    optimizer = torch.optim.AdamW(theirs.parameters(), weight_decay=0.01, fused=True)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 0.1, total_steps=STEPS)
    for step in range(STEPS):
        optimizer.zero_grad()
        backward(theirs, step)
        optimizer.step()
        if step < STEPS - 1:
            schedule.step()
    assert torch.equal(weights(ours), weights(theirs))


@pytest.mark.parametrize("steps", [2, 7, 50])
def test_rate_and_momentum_are_those_of_torch(steps: int) -> None:
    optimizer = torch.optim.AdamW([nn.Parameter(torch.zeros(1))])
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 0.1, total_steps=steps)
    cycle = OneCycle(0.1, steps)
    for step in range(steps):
        group = optimizer.param_groups[0]
        assert cycle.at(step) == pytest.approx((group["lr"], group["betas"][0]))
        optimizer.step()
        if step < steps - 1:
            schedule.step()


def test_what_is_remembered_can_be_taken_up_by_another() -> None:
    whole, parted = net(), net()
    learn(whole, AdamW(whole.parameters(), 0.01), range(STEPS))
    first, second = AdamW(parted.parameters(), 0.01), AdamW(parted.parameters(), 0.01)
    learn(parted, first, range(STEPS // 2))
    second.restore(first.tensors())
    learn(parted, second, range(STEPS // 2, STEPS))
    assert torch.equal(weights(whole), weights(parted))


def test_what_has_no_gradient_stays() -> None:
    used, unused = nn.Parameter(torch.ones(2)), nn.Parameter(torch.ones(2))
    optimizer = AdamW([used, unused], 0.01)
    used.sum().backward()  # type: ignore[no-untyped-call]
    optimizer.step(0.1)
    assert torch.equal(unused.detach(), torch.ones(2))
    assert not torch.equal(used.detach(), torch.ones(2))
    assert set(optimizer.tensors()) == {"0/step", "0/exp_avg", "0/exp_avg_sq"}


TRAINING = """
import sys
import numpy as np
from ostraka.client.students.registry import make_student
from ostraka.common.learning.learning import Learning
from ostraka.services.teachers.config import TrainingConfig
from ostraka.services.teachers.fitting import fit_networks
from ostraka.services.teachers.assignment import Slice

X, y = np.random.default_rng(0).normal(size=(40, 6)).astype("float32"), np.arange(40) % 2
fit_networks([Slice(X, y, (0,))] * 2, "mlp", 2, TrainingConfig(), lambda done, total: None)
make_student("vat", classes=2, learning=Learning(steps=2)).fit(X, y)
sys.exit("torch._dynamo was imported" if "torch._dynamo" in sys.modules else 0)
"""


@pytest.mark.heavy
def test_training_imports_no_compiler() -> None:
    subprocess.run([sys.executable, "-c", TRAINING], check=True)
