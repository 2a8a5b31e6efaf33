"""What a card does with a party's teachers: products, training, voting, an encoder, short memory."""

import importlib
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

from benchmarks.serving.ensembles import CLASSES, SIDE, images
from ostraka.common.learning.device import HOST, Device, card_module, free_memory, has_bfloat16
from ostraka.common.learning.encoders import Encoder
from ostraka.services.teachers.assignment import Slice
from ostraka.services.teachers.config import TrainingConfig
from ostraka.services.teachers.fitting import fit_networks
from ostraka.services.teachers.guard import VoteGuard
from ostraka.services.teachers.nets import Networks

EXAMPLES = Path(__file__).parents[2] / "examples"
MODEL = "cnn"
"""What votes on images where nothing else is named."""
REPEATS = 3
"""Runs of what is timed, of which the shortest counts; one before them is not timed."""
TERA = 1e12  # operations of one TFLOP
SPARE = 2**30
"""Bytes that are left of a card whose memory is to be short: 250 CNNs vote on some forty images in them."""


@dataclass(frozen=True)
class Size:
    """How much is measured: of a card by default.

    Attributes:
        teachers: as many as the papers have.
        records: of each teacher, images of MNIST's size.
        epochs: passes of training.
        queries: that all teachers vote on.
        images: of MNIST's size that an encoder takes, which makes them 224 pixels wide.
        product: rows and columns of the matrices whose product tells a card's peak.
        on_cpu: teachers that are trained on the CPU, for all others.
    """

    teachers: int = 250
    records: int = 240
    epochs: int = 3
    queries: int = 20_000
    images: int = 4096
    product: int = 8192
    on_cpu: int = 10


@dataclass(frozen=True)
class Figures:
    """What was measured on one device.

    Attributes:
        device: what it is.
        float32_tflops: of a product of matrices, in 10^12 operations a second.
        bfloat16_tflops: the same; none where the device does not compute with it.
        training_s: seconds in which all teachers are trained.
        training_core_s: processor seconds of the same on the CPU, from a part of the teachers.
        voting_s: seconds in which all teachers vote on all queries.
        voting_tflops: operations that their layers take by the book, in 10^12 a second.
        agreement: part of the votes that are those of the CPU.
        held_bytes: what the card holds for the teachers; none on the CPU.
        most_bytes: what it held at most until they had voted; none on the CPU.
        encoder_images_per_s: images that ResNet-18 encodes in a second.
        short_agreement: part of the votes that stay the same where memory is short, which the CPU's is not.
        shortages: how often it was too short.
    """

    device: str
    float32_tflops: float
    bfloat16_tflops: float | None
    training_s: float
    training_core_s: float
    voting_s: float
    voting_tflops: float
    agreement: float
    held_bytes: int | None
    most_bytes: int | None
    encoder_images_per_s: float
    short_agreement: float
    shortages: int

    @property
    def training_times_a_core(self) -> float:
        """How many times as fast as one core of the CPU it trains."""
        return self.training_core_s / self.training_s

    @property
    def voting_of_peak(self) -> float:
        """The voting's part of the product's peak, of the precision that it computes in."""
        return self.voting_tflops / (self.bfloat16_tflops or self.float32_tflops)


def measure(device: Device, size: Size) -> Figures:
    """Measure all of it; raises what training and voting raise."""
    place = device.first
    slices = [
        Slice(*images(size.records, np.random.default_rng(teacher)), (0, teacher))
        for teacher in range(size.teachers)
    ]
    nets, training_s = _train(slices, size, device)
    X = images(size.queries, np.random.default_rng(1))[0].reshape(size.queries, -1)
    models = Networks.of(MODEL, (SIDE, SIDE), nets, device)
    guard = VoteGuard(CLASSES)
    voting_s = _shortest(lambda: models.predict(X, guard), place)
    votes = models.predict(X, guard)
    most_bytes = None if device.is_cpu else card_module(place).max_memory_allocated(place)
    short = votes if device.is_cpu else _vote_short_of_memory(models, X, guard, device)
    operations = _operations(nets[0]) * size.teachers * size.queries
    on_host = Networks.of(MODEL, (SIDE, SIDE), nets).predict(X, VoteGuard(CLASSES))
    return Figures(
        device=device.descriptions()[0],
        float32_tflops=_product_peak(place, torch.float32, size.product),
        bfloat16_tflops=_product_peak(place, torch.bfloat16, size.product) if has_bfloat16(place) else None,
        training_s=training_s,
        training_core_s=_train_on_core(slices, size),
        voting_s=voting_s,
        voting_tflops=operations / voting_s / TERA,
        agreement=float((votes == on_host).mean()),
        held_bytes=None if device.is_cpu else models.memory_bytes(),
        most_bytes=most_bytes,
        encoder_images_per_s=_encode(size, device),
        short_agreement=float((short == votes).mean()),
        shortages=device.shortages,
    )


def _train(slices: Sequence[Slice], size: Size, device: Device) -> tuple[list[nn.Module], float]:
    """Return trained networks, and the seconds that this took."""
    config = TrainingConfig(teachers=len(slices), epochs=size.epochs)
    began = time.perf_counter()
    nets = fit_networks(slices, MODEL, CLASSES, config, lambda done, total: None, device=device)
    return nets, time.perf_counter() - began


def _train_on_core(slices: Sequence[Slice], size: Size) -> float:
    """Return the processor seconds of all teachers, from those of a few: each takes as long."""
    few = slices[: size.on_cpu]
    began = time.process_time()
    _train(few, size, HOST)
    return (time.process_time() - began) * len(slices) / len(few)


def _vote_short_of_memory(
    models: Networks, X: NDArray[np.float32], guard: VoteGuard, device: Device
) -> NDArray[np.int64]:
    """Return the votes while something else fills the card."""
    free_memory(device.first)
    (card,) = device.memory()
    filled = torch.empty(max(0, card.all - card.used - SPARE), dtype=torch.uint8, device=device.first)
    try:
        return models.predict(X, guard)
    finally:
        del filled


def _encode(size: Size, device: Device) -> float:
    """Return images a second of the example's ResNet-18, whose weights are drawn."""
    sys.path.append(str(EXAMPLES))
    made: Any = importlib.import_module("resnet18_encoder")
    torch.manual_seed(0)
    encoder = Encoder("resnet18", made.ResNet18(), device)
    X = images(size.images, np.random.default_rng(2))[0].reshape(size.images, -1)
    return size.images / _shortest(lambda: encoder.encode(X), device.first)


def _operations(net: nn.Module) -> int:
    """Count what the layers of a network take for one record: a multiplication and an addition are two."""
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        net(torch.zeros(1, SIDE, SIDE))
    operations: int = counter.get_total_flops()
    return operations


def _product_peak(place: torch.device, kind: torch.dtype, side: int) -> float:
    """Return 10^12 operations a second of one product of square matrices."""
    left, right = (torch.ones(side, side, device=place).to(kind) for _ in range(2))
    return 2 * side**3 / _shortest(lambda: left @ right, place) / TERA


def _shortest(work: Callable[[], object], place: torch.device) -> float:
    """Return the seconds of the shortest of some runs, until the card has done all of it."""
    seconds = []
    for _ in range(1 + REPEATS):
        began = time.perf_counter()
        work()
        if (module := card_module(place)) is not None:
            module.synchronize(place)
        seconds.append(time.perf_counter() - began)
    return min(seconds[1:])
