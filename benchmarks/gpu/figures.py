"""Performance of a GPU with a party's teachers: products, training, voting, an encoder, short memory."""

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
"""The default model that votes on images."""
REPEATS = 3
"""Number of timed runs, of which the shortest counts; one run before them is not timed."""
TERA = 1e12  # operations in one TFLOP
SPARE = 2**30
"""Bytes left free on a GPU that is short of memory: 250 CNNs can vote on about forty images in them."""


@dataclass(frozen=True)
class Size:
    """The size of the benchmark; the default is for a GPU.

    Attributes:
        teachers: number of teachers, as in the papers.
        records: records of each teacher, images of MNIST's size.
        epochs: passes of training.
        queries: number of queries that all teachers vote on.
        images: number of images of MNIST's size for an encoder, which resizes them to 224 pixels.
        product: rows and columns of the matrices whose product measures a GPU's peak.
        on_cpu: number of teachers trained on the CPU, which represent all.
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
    """Measurements on one device.

    Attributes:
        device: its description.
        float32_tflops: of a product of matrices, in 10^12 operations per second.
        bfloat16_tflops: the same; None if the device does not support it.
        training_s: seconds to train all teachers.
        training_core_s: processor seconds of the same on the CPU, extrapolated from some teachers.
        voting_s: seconds for all teachers to vote on all queries.
        voting_tflops: theoretical operations of their layers, in 10^12 per second.
        agreement: fraction of the votes that equal the CPU's.
        held_bytes: memory of the GPU for the teachers; None on the CPU.
        most_bytes: its peak until they had voted; None on the CPU.
        encoder_images_per_s: images that ResNet-18 encodes per second.
        short_agreement: fraction of votes that do not change when memory is short, which the CPU's is not.
        shortages: how often memory was short.
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
        """The speed of training relative to one core of the CPU."""
        return self.training_core_s / self.training_s

    @property
    def voting_of_peak(self) -> float:
        """The fraction of the product's peak that voting reaches, in the same precision."""
        return self.voting_tflops / (self.bfloat16_tflops or self.float32_tflops)


def measure(device: Device, size: Size) -> Figures:
    """Measure everything; raises the errors of training and voting."""
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
    """Return trained networks, and the training time in seconds."""
    config = TrainingConfig(teachers=len(slices), epochs=size.epochs)
    began = time.perf_counter()
    nets = fit_networks(slices, MODEL, CLASSES, config, lambda done, total: None, device=device)
    return nets, time.perf_counter() - began


def _train_on_core(slices: Sequence[Slice], size: Size) -> float:
    """Return the processor seconds of all teachers, extrapolated from a few, which take equally long."""
    few = slices[: size.on_cpu]
    began = time.process_time()
    _train(few, size, HOST)
    return (time.process_time() - began) * len(slices) / len(few)


def _vote_short_of_memory(
    models: Networks, X: NDArray[np.float32], guard: VoteGuard, device: Device
) -> NDArray[np.int64]:
    """Return the votes while something else fills the GPU's memory."""
    free_memory(device.first)
    (card,) = device.memory()
    filled = torch.empty(max(0, card.all - card.used - SPARE), dtype=torch.uint8, device=device.first)
    try:
        return models.predict(X, guard)
    finally:
        del filled


def _encode(size: Size, device: Device) -> float:
    """Return the images per second of the example's ResNet-18, with random weights."""
    sys.path.append(str(EXAMPLES))
    made: Any = importlib.import_module("resnet18_encoder")
    torch.manual_seed(0)
    encoder = Encoder("resnet18", made.ResNet18(), device)
    X = images(size.images, np.random.default_rng(2))[0].reshape(size.images, -1)
    return size.images / _shortest(lambda: encoder.encode(X), device.first)


def _operations(net: nn.Module) -> int:
    """Count the operations of a network's layers for one record: a multiply-add counts as two."""
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        net(torch.zeros(1, SIDE, SIDE))
    operations: int = counter.get_total_flops()
    return operations


def _product_peak(place: torch.device, kind: torch.dtype, side: int) -> float:
    """Return 10^12 operations per second of one product of square matrices."""
    left, right = (torch.ones(side, side, device=place).to(kind) for _ in range(2))
    return 2 * side**3 / _shortest(lambda: left @ right, place) / TERA


def _shortest(work: Callable[[], object], place: torch.device) -> float:
    """Return the seconds of the shortest of several runs, including all work of the GPU."""
    seconds = []
    for _ in range(1 + REPEATS):
        began = time.perf_counter()
        work()
        if (module := card_module(place)) is not None:
            module.synchronize(place)
        seconds.append(time.perf_counter() - began)
    return min(seconds[1:])
