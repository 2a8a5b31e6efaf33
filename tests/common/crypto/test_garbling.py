"""Garbled circuits against plain ones, and what the evaluator is left with."""

import hashlib
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from ostraka.common.crypto import word_arithmetic
from ostraka.common.crypto.blocks import Blocks, active, to_bytes
from ostraka.common.crypto.circuit import Gates, PlainGates, Wires
from ostraka.common.crypto.garbling import Evaluator, Garbler
from ostraka.common.errors import ErrorCode, OstrakaError
from tests.common.crypto.clear import plain_word
from tests.common.crypto.garbled import BINDING, SEED, Build, labels, random_bits, run, same_or_other

P_VALUE = 1e-9
STEP = st.tuples(st.sampled_from(["and", "xor", "not"]), st.integers(0, 10**6), st.integers(0, 10**6))


def every_wire(steps: list[tuple[str, int, int]]) -> Build:
    """Return a circuit that adds a wire for each step and gives all of them."""

    def build(gates: Gates, inputs: Wires) -> Wires:
        wires = list(inputs)
        for kind, first, second in steps:
            a, b = wires[first % len(wires)], wires[second % len(wires)]
            match kind:
                case "and":
                    wires.append(gates.and_(a, b))
                case "xor":
                    wires.append(a ^ b)
                case _:
                    wires.append(gates.not_(a))
        return np.stack(wires)

    return build


@given(
    steps=st.lists(STEP, max_size=25), inputs=st.integers(1, 5), instances=st.integers(1, 4), data=st.data()
)
def test_a_random_circuit_garbled_is_the_circuit_in_the_clear(
    steps: list[tuple[str, int, int]], inputs: int, instances: int, data: Any
) -> None:
    bit = st.integers(0, 1)
    drawn = data.draw(st.lists(bit, min_size=inputs * instances, max_size=inputs * instances))
    wires = np.array(drawn, np.uint64).reshape(inputs, instances, 1)
    gates = PlainGates()
    expected = every_wire(steps)(gates, wires)
    garbled = run(every_wire(steps), wires, seed=data.draw(st.binary(min_size=32, max_size=32)))
    assert np.array_equal(garbled.values, expected)
    assert len(garbled.tables) == 32 * gates.ands
    assert same_or_other(garbled)


OPERATIONS: dict[str, Build] = {
    "add": lambda gates, w: word_arithmetic.add(gates, w[:8], w[8:]),
    "subtract": lambda gates, w: word_arithmetic.subtract(gates, w[:8], w[8:]),
    "greater": lambda gates, w: word_arithmetic.greater(gates, w[:8], w[8:]),
    "greater signed": lambda gates, w: word_arithmetic.greater_signed(gates, w[:8], w[8:]),
    "equal": lambda gates, w: word_arithmetic.equal(gates, w[:8], w[8:]),
    "equal to itself": lambda gates, w: word_arithmetic.equal(gates, w[:8], w[:8].copy()),
    "select": lambda gates, w: word_arithmetic.select(gates, w[0], w[1:8], w[9:]),
    "keep": lambda gates, w: word_arithmetic.keep(gates, w[0], w[1:]),
    "or": lambda gates, w: word_arithmetic.or_(gates, w[:8], w[8:]),
    "all of": word_arithmetic.all_of,
    "any of": word_arithmetic.any_of,
    "popcount": word_arithmetic.popcount,
    "look up": lambda gates, w: word_arithmetic.lookup(gates, range(7, 20), 5, w[:4]),
    "look up with an unused product": lambda gates, w: word_arithmetic.lookup(gates, [1, 2, 3], 2, w[:2]),
}


@pytest.mark.parametrize("name", OPERATIONS)
def test_words_garbled_are_words_in_the_clear(name: str) -> None:
    inputs = random_bits(np.random.default_rng(5), 16, 40, 3)
    garbled = run(OPERATIONS[name], inputs)
    assert np.array_equal(garbled.values, OPERATIONS[name](PlainGates(), inputs))
    assert same_or_other(garbled)


@pytest.mark.parametrize("bit", [0, 1])
def test_the_colours_that_the_evaluator_sees_are_uniform_whatever_the_bits(bit: int) -> None:
    def build(gates: Gates, wires: Wires) -> Wires:
        return gates.and_(wires[0], wires[1])

    inputs = np.full((2, 20_000, 1), bit, np.uint64)
    held = run(build, inputs).held
    for octets in np.moveaxis(held.view(np.uint8), -1, 0):
        assert stats.chisquare(np.bincount(octets, minlength=256)).pvalue > P_VALUE


def test_the_evaluator_is_given_and_makes_no_two_labels_of_a_wire() -> None:
    """The other label of any wire, or delta itself, is nowhere in the tables or in what it holds."""
    steps = [("and", place, place + 1) for place in range(12)]
    inputs = random_bits(np.random.default_rng(6), 4, 30)
    garbled = run(every_wire(steps), inputs)
    delta = garbled.garbler.delta
    seen = set(as_bytes(garbled.held)) | set(blocks_of(garbled.tables))
    assert seen.isdisjoint(as_bytes(garbled.held ^ delta))
    assert to_bytes(delta) not in seen
    assert to_bytes(delta) not in differences(garbled.held)


def as_bytes(blocks: Blocks) -> list[bytes]:
    return [to_bytes(block) for block in blocks.reshape(-1, 2)]


def blocks_of(tables: bytes) -> list[bytes]:
    return [tables[start : start + 16] for start in range(0, len(tables), 16)]


def differences(blocks: Blocks) -> set[bytes]:
    flat = blocks.reshape(-1, 2)
    return set(as_bytes(flat[:, None] ^ flat))


def adder_tables(seed: bytes = SEED, binding: bytes = BINDING, part: int = 0) -> bytes:
    inputs = plain_word(np.arange(12).reshape(2, 6), 8)
    add = word_arithmetic.add
    return run(lambda gates, w: add(gates, w[:, 0], w[:, 1]), inputs, seed, binding, part).tables


def test_tables_are_the_same_for_the_same_garbling_and_for_no_other() -> None:
    assert adder_tables() == adder_tables()
    others = adder_tables(seed=bytes(32)) + adder_tables(binding=bytes(32)) + adder_tables(part=1)
    blocks = blocks_of(adder_tables() + others)
    assert len(set(blocks)) == len(blocks)


def test_the_format_of_tables_is_pinned() -> None:
    assert hashlib.sha256(adder_tables()).hexdigest() == (
        "a2c86e3c4c00a91f2434064005e3f2a15272e441df68dd255787ae958a68ba88"
    )


@pytest.mark.parametrize("change", ["binding", "part", "tables"])
def test_evaluating_something_else_gives_no_label_of_the_wire(change: str) -> None:
    def build(gates: Gates, wires: Wires) -> Wires:
        return gates.and_(wires[0], wires[1])

    inputs = np.ones((2, 50, 1), np.uint64)
    delta, zeros = labels(inputs.shape[:-1], SEED)
    garbler = Garbler(delta, BINDING, 0)
    false = build(garbler, zeros)
    tables = garbler.tables()
    evaluator = {
        "binding": lambda: Evaluator(tables, bytes(32), 0),
        "part": lambda: Evaluator(tables, BINDING, 1),
        "tables": lambda: Evaluator(bytes(byte ^ 1 for byte in tables), BINDING, 0),
    }[change]()
    held = build(evaluator, active(zeros, inputs[..., 0], delta))
    right = set(as_bytes(false)) | set(as_bytes(garbler.not_(false)))
    wrong = [label for label in as_bytes(held) if label not in right]
    assert len(wrong) == 50 if change != "tables" else wrong


def test_tables_that_end_within_a_block_are_refused() -> None:
    with pytest.raises(OstrakaError) as refused:
        Evaluator(bytes(33), BINDING, 0)
    assert refused.value.code == ErrorCode.MESSAGE_INVALID
