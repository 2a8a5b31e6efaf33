"""Teachers on an NVIDIA card, beside the CPU: `make gpu`."""

import numpy as np
import pytest
import torch
from torch import nn

from ostraka.common.learning.device import HOST, Device, card_module, free_memory
from ostraka.common.learning.encoders import Encoder
from ostraka.services.teachers.guard import VoteGuard
from ostraka.services.teachers.nets import Networks
from tests.services.teachers.test_on_cards import CLASSES, SHAPES, fit, queries

pytestmark = pytest.mark.gpu
ALIKE = 0.999
"""Part of the votes that are the CPU's: near-ties may go either way in other orders of sums."""
QUERIES = 5000
ROOM = 2**25
"""Bytes for votes: three CNNs take a hundred megabytes for the first layer of a whole micro-batch."""


@pytest.fixture(scope="module")
def card() -> Device:
    device = Device("cuda")
    device.require()
    return device


@pytest.mark.parametrize("model", list(SHAPES))
def test_teachers_vote_as_on_the_cpu(card: Device, model: str) -> None:
    X = queries(model, QUERIES)
    nets = fit(model, HOST)
    here, there = (
        Networks.of(model, SHAPES[model], nets, device).predict(X, VoteGuard(CLASSES))
        for device in (HOST, card)
    )
    assert (here == there).mean() >= ALIKE


@pytest.mark.parametrize("model", list(SHAPES))
def test_teachers_that_learn_there_vote_as_those_of_the_cpu(card: Device, model: str) -> None:
    X = queries(model, QUERIES)
    here, there = (
        Networks.of(model, SHAPES[model], fit(model, device)).predict(X, VoteGuard(CLASSES))
        for device in (HOST, card)
    )
    assert (here == there).mean() >= 0.9  # rounding grows in training; other teachers agree on a third


def test_the_same_seed_gives_the_same_teachers_where_that_is_asked_for(card: Device) -> None:
    try:
        one, other = (fit("cnn", Device("cuda", deterministic=True)) for _ in range(2))
    finally:
        torch.use_deterministic_algorithms(False)
    for mine, its in zip(one, other, strict=True):
        for left, right in zip(mine.parameters(), its.parameters(), strict=True):
            assert torch.equal(left, right)


def test_short_memory_changes_no_vote_and_is_counted(card: Device) -> None:
    X = queries("cnn", QUERIES)
    models = Networks.of("cnn", SHAPES["cnn"], fit("cnn", HOST), card)
    votes = models.predict(X, VoteGuard(CLASSES))
    free_memory(card.first)
    module = card_module(card.first)
    (memory,) = card.memory()
    module.set_per_process_memory_fraction((module.memory_reserved(card.first) + ROOM) / memory.all)
    before = card.shortages
    try:
        short = models.predict(X, VoteGuard(CLASSES))
    finally:
        module.set_per_process_memory_fraction(1.0)
    assert card.shortages > before
    assert (votes == short).mean() >= ALIKE


def test_an_encoder_gives_the_features_of_the_cpu(card: Device) -> None:
    torch.manual_seed(0)
    network = nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 8))
    X = np.random.default_rng(0).normal(size=(3000, 16)).astype(np.float32)
    here = Encoder("m:f", network, HOST).encode(X)
    np.testing.assert_allclose(Encoder("m:f", network, card).encode(X), here, rtol=1e-3, atol=1e-4)


def test_the_card_says_what_it_is(card: Device) -> None:
    (said,) = card.descriptions()
    assert "compute capability" in said
    assert "driver ?" not in said
    (memory,) = card.memory()
    assert 0 < memory.used < memory.all
