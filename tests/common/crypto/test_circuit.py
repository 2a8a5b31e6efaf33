import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ostraka.common.crypto import word_arithmetic
from ostraka.common.crypto.circuit import Circuit, Gates, Opening, Wires
from ostraka.common.crypto.computation import Computation
from ostraka.common.crypto.ot_extension import extension_bytes
from tests.common.crypto.clear import in_the_clear


def exceeds(gates: Gates, theirs: Wires, own: Wires) -> Wires:
    """Whether the sum of each evaluator's word and its other half is above the garbler's last word."""
    total = word_arithmetic.add(gates, theirs, own[:, :, :-1])
    threshold = np.broadcast_to(own[:, :, -1:], total.shape)
    return word_arithmetic.greater(gates, total, threshold)


def exceeding(bits: int = 8, count: int = 3, opening: Opening = "shares") -> Circuit:
    return Circuit(bits, count, count + 1, count, opening, exceeds)


@given(first=st.integers(0, 2**20 - 1), second=st.integers(0, 2**20 - 1), threshold=st.integers(0, 2**20 - 1))
def test_a_circuit_adds_up_halves_in_the_clear(first: int, second: int, threshold: int) -> None:
    circuit = exceeding(bits=20, count=1)
    bit = in_the_clear(circuit, np.array([[first]]), np.array([[second, threshold]]))
    assert bit.tolist() == [[(first + second) % 2**20 > threshold]]


def test_words_outside_the_ring_are_reduced() -> None:
    circuit = exceeding(bits=8, count=1)
    assert in_the_clear(circuit, np.array([[-1]]), np.array([[256 + 3, 1]])).tolist() == [[True]]


@pytest.mark.parametrize(
    ("opening", "of_shares", "of_colours"), [("shares", 4 * 3, 0), ("evaluator", 0, 1), ("both", 0, 1)]
)
def test_sizes_follow_from_public_counts(opening: Opening, of_shares: int, of_colours: int) -> None:
    circuit = exceeding(opening=opening)
    assert circuit.ands == 3 * (7 + 8)
    sizes = Computation.of(circuit, 5).sizes
    assert sizes.point == 32
    assert sizes.points == 128 * 32
    assert sizes.extension == extension_bytes(5 * 3 * 8)
    assert sizes.tables == 5 * (32 * 45 + of_shares)
    assert sizes.correction == 5 * 3 * 4
    assert sizes.labels == 5 * (4 * 8 * 16 + of_colours)
    assert sizes.returned == (5 * 3 * 16 if opening == "both" else 0)


@pytest.mark.parametrize(("bits", "theirs", "own"), [(0, 1, 1), (33, 1, 1), (8, 0, 1), (8, 2, 1)])
def test_words_that_messages_cannot_carry_are_refused(bits: int, theirs: int, own: int) -> None:
    with pytest.raises(ValueError, match=r"words? "):
        Circuit(bits, theirs, own, 1, "shares", exceeds)
