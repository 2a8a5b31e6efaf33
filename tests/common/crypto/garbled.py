"""Garbling and evaluation in one process; labels of inputs are passed as if they had been transferred."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ostraka.common.crypto.blocks import Blocks, active, colours, delta_of
from ostraka.common.crypto.circuit import Gates, Wires
from ostraka.common.crypto.garbling import Evaluator, Garbler
from ostraka.common.crypto.stream import Stream

SEED = bytes(range(32))
BINDING = bytes(range(100, 132))

Build = Callable[[Gates, Wires], Wires]


@dataclass(frozen=True)
class Garbled:
    """Both sides of a computation: the gates, the output wires, and the tables between them."""

    garbler: Garbler
    zeros: Wires
    tables: bytes
    evaluator: Evaluator
    held: Wires

    @property
    def values(self) -> Wires:
        """The values of the output wires, as plain wires."""
        return (colours(self.zeros) ^ colours(self.held))[..., None]


def run(build: Build, inputs: Wires, seed: bytes = SEED, binding: bytes = BINDING, part: int = 0) -> Garbled:
    """Garble and evaluate `build` on plain wires (..., 1)."""
    delta, zeros = labels(inputs.shape[:-1], seed)
    garbler = Garbler(delta, binding, part)
    outputs = build(garbler, zeros)
    tables = garbler.tables()
    evaluator = Evaluator(tables, binding, part)
    held = build(evaluator, active(zeros, inputs[..., 0], delta))
    return Garbled(garbler, outputs, tables, evaluator, held)


def labels(shape: tuple[int, ...], seed: bytes) -> tuple[Blocks, Blocks]:
    """Return delta, and labels of 0 for input wires of `shape`, from a seed."""
    stream = Stream(seed, "labels")
    return delta_of(stream.blocks()), stream.blocks(*shape)


def same_or_other(garbled: Garbled) -> bool:
    """Whether every label that the evaluator ends with is one of its wire's two."""
    difference = garbled.zeros ^ garbled.held
    is_other = (difference == garbled.garbler.delta).all(axis=-1)
    return bool((is_other | (difference == 0).all(axis=-1)).all())


def random_bits(rng: np.random.Generator, *shape: int) -> Wires:
    """Return plain wires (..., 1) with random bits, for inputs only."""
    return rng.integers(0, 2, (*shape, 1), dtype=np.uint64)
