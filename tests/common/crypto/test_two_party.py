"""Both sides of a computation together: results, sizes, repetition, and messages that are not right."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from ostraka.common.crypto import word_arithmetic as arithmetic
from ostraka.common.crypto.base_ot import BaseSender
from ostraka.common.crypto.circuit import Circuit, Gates, Opening, Wires
from ostraka.common.crypto.ml_kem_ot import CIPHERTEXT_BYTES
from ostraka.common.crypto.two_party import CircuitEvaluation, Computation, Garbling, binding
from ostraka.common.errors import ErrorCode, OstrakaError
from tests.common.crypto.clear import in_the_clear

P_VALUE = 1e-9
BINDING = binding("querier", "party", "session", 7)
SEED = bytes(range(32))
BITS = 9
INSTANCES = 21
OPENINGS: list[Opening] = ["shares", "evaluator", "both"]
Values = NDArray[np.uint64]


def above(gates: Gates, theirs: Wires, own: Wires) -> Wires:
    """For two shared words: is each above the garbler's third word, and is the first above the second."""
    sums = arithmetic.add(gates, theirs, own[:, :, :2])
    limit = np.broadcast_to(own[:, :, 2:], sums.shape)
    each = arithmetic.greater(gates, sums, limit)
    first = arithmetic.greater(gates, sums[:, :, 0], sums[:, :, 1])
    return np.concatenate([each, first[:, None]], axis=1)


def circuit(opening: Opening, bits: int = BITS) -> Circuit:
    return Circuit(bits, words=2, garbler_words=3, outputs=3, opening=opening, build=above)


SHARED = Computation.of(circuit("shares"), INSTANCES)


def source(seed: int) -> Callable[[int], bytes]:
    return np.random.default_rng(seed).bytes


def values(seed: int, words: int, instances: int = INSTANCES, bits: int = BITS) -> Values:
    return np.random.default_rng(seed).integers(0, 2**bits, (instances, words), dtype=np.uint64)


@dataclass(frozen=True)
class Messages:
    """All that goes over the wire."""

    point: bytes
    points: bytes
    extension: bytes
    tables: list[bytes]
    correction: bytes
    labels: bytes


@dataclass(frozen=True)
class Two:
    """Both sides of one computation, as new."""

    garbling: Garbling
    evaluation: CircuitEvaluation

    @classmethod
    def of(cls, opening: Opening, instances: int = INSTANCES, seed: int = 1) -> "Two":
        one = Computation.of(circuit(opening), instances)
        return cls(Garbling(one, SEED, BINDING), CircuitEvaluation(one, BINDING, source(seed)))

    def transfer(self) -> tuple[bytes, bytes, bytes]:
        point = self.evaluation.point()
        points = self.garbling.points(point)
        extension = self.evaluation.extension(points)
        self.garbling.accept(extension)
        return point, points, extension

    def run(self, words: Values, own: Values) -> Messages:
        before = self.transfer()
        tables = list(self.garbling.tables())
        for table in tables:
            self.evaluation.take(table)
        correction = self.evaluation.correction(words)
        labels = self.garbling.labels(correction, own)
        self.evaluation.evaluate(labels)
        return Messages(*before, tables, correction, labels)


def code_of(step: Callable[[], Any]) -> ErrorCode:
    with pytest.raises(OstrakaError) as refused:
        step()
    return refused.value.code


@pytest.fixture(autouse=True)
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ostraka.common.crypto.computation.PART", 8)


@pytest.mark.parametrize("instances", [1, 8, 21])
@pytest.mark.parametrize("opening", OPENINGS)
def test_the_result_is_the_circuits(opening: Opening, instances: int) -> None:
    two = Two.of(opening, instances)
    words, own = values(2, 2, instances), values(3, 3, instances)
    two.run(words, own)
    expected = in_the_clear(circuit(opening), words, own)
    if opening == "shares":
        assert np.array_equal(two.garbling.shares()[0] + two.evaluation.shares()[0], expected)
        return
    assert np.array_equal(two.evaluation.bits(), expected)
    if opening == "both":
        assert np.array_equal(two.garbling.open_outputs(two.evaluation.labels_to_return()), expected)


def test_words_of_32_bits_and_edges_of_the_ring() -> None:
    one = circuit("evaluator", bits=32)
    edges = np.array([0, 1, 2**31 - 1, 2**31, 2**32 - 1], np.uint64)
    words, own = np.stack([edges, edges[::-1]], axis=1), np.stack([edges, edges, edges[::-1]], axis=1)
    five = Computation.of(one, 5)
    two = Two(Garbling(five, SEED, BINDING), CircuitEvaluation(five, BINDING))
    two.run(words, own)
    assert np.array_equal(two.evaluation.bits(), in_the_clear(one, words, own))


def test_base_transfers_by_ml_kem_give_the_same_result_whatever_is_sent_again() -> None:
    """Ciphertexts are drawn anew each time, so that what was sent is kept."""
    one = Computation.of(circuit("both"), INSTANCES, "ml-kem")
    two = Two(Garbling(one, SEED, BINDING), CircuitEvaluation(one, BINDING, source(1)))
    words, own = values(2, 2), values(3, 3)
    sent = two.run(words, own)
    assert (len(sent.point), len(sent.points)) == (one.sizes.point, one.sizes.points)
    assert len(sent.extension) == one.sizes.extension
    assert two.garbling.points(sent.point) == sent.points
    assert two.evaluation.extension(sent.points) == sent.extension
    two.garbling.accept(sent.extension)
    assert np.array_equal(two.evaluation.bits(), in_the_clear(circuit("both"), words, own))
    other = Garbling(one, bytes(32), BINDING).points(sent.point)
    assert code_of(lambda: two.evaluation.extension(other)) is ErrorCode.CRYPTO_REFUSED


class SpoiltAnswer:
    """A sender of base transfers, of whose ciphertexts for the value 0 half are none."""

    def __init__(self, base: BaseSender) -> None:
        self._base = base
        self.opening = base.opening

    def answer(self, offer: bytes) -> tuple[NDArray[np.uint8], bytes]:
        keys, answer = self._base.answer(offer)
        spoilt = bytearray(answer)
        for place in range(64):
            spoilt[2 * place * CIPHERTEXT_BYTES] ^= 1
        return keys, bytes(spoilt)


def test_a_wrong_answer_of_the_base_transfers_fails_as_a_wrong_extension_does() -> None:
    """Of 64 ciphertexts that are none the garbler takes about half, notices, and takes nothing else."""
    one = Computation.of(circuit("both"), INSTANCES, "ml-kem")
    garbling = Garbling(one, SEED, BINDING)
    honest, lying = (CircuitEvaluation(one, BINDING, source(1)) for _ in range(2))
    lying._base = SpoiltAnswer(lying._base)
    points = garbling.points(honest.point())
    assert code_of(lambda: garbling.accept(lying.extension(points))) is ErrorCode.CRYPTO_REFUSED
    assert code_of(lambda: garbling.accept(honest.extension(points))) is ErrorCode.CRYPTO_REFUSED


def test_the_check_is_keyed_by_the_answer_of_the_base_transfers() -> None:
    """Ciphertexts that the garbler does not open change no key of it: the check alone tells."""
    one = Computation.of(circuit("both"), INSTANCES, "ml-kem")
    two = Two(Garbling(one, SEED, BINDING), CircuitEvaluation(one, BINDING, source(1)))
    extension = bytearray(two.evaluation.extension(two.garbling.points(two.evaluation.point())))
    for place, choice in enumerate(two.garbling._delta_bits.tolist()):
        extension[(2 * place + 1 - choice) * CIPHERTEXT_BYTES] ^= 1
    assert code_of(lambda: two.garbling.accept(bytes(extension))) is ErrorCode.CRYPTO_REFUSED


@pytest.mark.parametrize("opening", OPENINGS)
def test_messages_have_the_sizes_of_the_circuit(opening: Opening) -> None:
    two = Two.of(opening)
    sent = two.run(values(2, 2), values(3, 3))
    sizes = Computation.of(circuit(opening), INSTANCES).sizes
    assert len(sent.point) == sizes.point
    assert len(sent.points) == sizes.points
    assert len(sent.extension) == sizes.extension
    assert sum(map(len, sent.tables)) == sizes.tables
    assert len(sent.tables) == 3
    assert len(sent.correction) == sizes.correction
    assert len(sent.labels) == sizes.labels
    assert len(two.evaluation.labels_to_return()) == sizes.returned


@pytest.mark.parametrize("opening", OPENINGS)
def test_every_message_again_is_the_same_to_the_byte(opening: Opening) -> None:
    two = Two.of(opening)
    words, own = values(2, 2), values(3, 3)
    sent = two.run(words, own)
    assert two.evaluation.point() == sent.point
    assert two.garbling.points(sent.point) == sent.points
    assert two.evaluation.extension(sent.points) == sent.extension
    two.garbling.accept(sent.extension)
    assert list(two.garbling.tables()) == sent.tables
    assert two.evaluation.correction(words) == sent.correction
    assert two.garbling.labels(sent.correction, own) == sent.labels
    returned = two.evaluation.labels_to_return()
    two.evaluation.evaluate(sent.labels)
    assert two.evaluation.labels_to_return() == returned
    if opening == "both":
        assert np.array_equal(two.garbling.open_outputs(returned), two.garbling.open_outputs(returned))
    again = Two.of(opening)
    assert again.run(words, own) == sent


def test_tables_may_come_in_any_pieces() -> None:
    words, own = values(2, 2), values(3, 3)
    sent = Two.of("shares").run(words, own)
    pieces = Two.of("shares")
    pieces.transfer()
    joined = b"".join(sent.tables)
    for start in range(0, len(joined), 777):
        pieces.evaluation.take(joined[start : start + 777])
    pieces.evaluation.evaluate(pieces.garbling.labels(pieces.evaluation.correction(words), own))
    outputs = pieces.garbling.shares()[0] + pieces.evaluation.shares()[0]
    assert np.array_equal(outputs, in_the_clear(circuit("shares"), words, own))


def test_shares_and_opened_bits_need_no_reader_of_the_tables() -> None:
    words, own = values(2, 2), values(3, 3)
    for opening in ("shares", "both"):
        full, silent = Two.of(opening), Two.of(opening)
        full.run(words, own)
        silent.transfer()
        if opening == "shares":
            assert np.array_equal(silent.garbling.shares()[0], full.garbling.shares()[0])
        else:
            returned = full.evaluation.labels_to_return()
            assert np.array_equal(silent.garbling.open_outputs(returned), full.evaluation.bits())


def test_only_the_first_content_is_answered() -> None:
    two, other = Two.of("shares"), Two.of("shares", seed=9)
    words, own = values(2, 2), values(3, 3)
    sent = two.run(words, own)
    foreign = Garbling(SHARED, bytes(32), BINDING).points(sent.point)
    changed = own.copy()
    changed[0, 2] ^= np.uint64(1)
    for step in (
        lambda: two.garbling.points(other.evaluation.point()),
        lambda: two.garbling.accept(other.evaluation.extension(sent.points)),
        lambda: two.garbling.labels(two_added(sent.correction), own),
        lambda: two.garbling.labels(sent.correction, changed),
        lambda: two.evaluation.extension(foreign),
        lambda: two.evaluation.correction(values(4, 2)),
    ):
        assert code_of(step) is ErrorCode.CRYPTO_REFUSED
    assert two.garbling.labels(sent.correction, own) == sent.labels


def two_added(correction: bytes) -> bytes:
    return bytes([correction[0] ^ 2]) + correction[1:]


def test_of_corrections_that_come_at_once_one_is_answered() -> None:
    two = Two.of("shares")
    two.transfer()
    corrections = [values(seed, 2).astype("<u4").tobytes() for seed in range(8)]

    def answered(correction: bytes) -> bool:
        try:
            two.garbling.labels(correction, values(3, 3))
        except OstrakaError:
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(answered, corrections)) == 1


def test_steps_out_of_order_are_refused() -> None:
    two = Two.of("shares")
    sizes = Computation.of(circuit("shares"), INSTANCES).sizes
    for step in (
        lambda: two.garbling.accept(bytes(sizes.extension)),
        two.garbling.tables,
        two.garbling.shares,
        lambda: two.garbling.labels(bytes(sizes.correction), values(3, 3)),
        lambda: two.evaluation.evaluate(bytes(sizes.labels)),
        two.evaluation.shares,
    ):
        assert code_of(step) is ErrorCode.BATCH_OUT_OF_ORDER
    two.transfer()
    assert code_of(lambda: two.evaluation.evaluate(bytes(sizes.labels))) is ErrorCode.BATCH_OUT_OF_ORDER


@pytest.mark.parametrize("change", [lambda m: m[:-1], lambda m: m + b"\0", lambda m: b""])
def test_messages_of_another_size_are_refused_and_the_right_one_is_still_taken(
    change: Callable[[bytes], bytes],
) -> None:
    two = Two.of("both")
    words, own = values(2, 2), values(3, 3)
    point, points, extension = Two.of("both").transfer()
    assert code_of(lambda: two.garbling.points(change(point))) is ErrorCode.MESSAGE_INVALID
    two.garbling.points(point)
    assert code_of(lambda: two.evaluation.extension(change(points))) is ErrorCode.MESSAGE_INVALID
    two.evaluation.extension(points)
    assert code_of(lambda: two.garbling.accept(change(extension))) is ErrorCode.MESSAGE_INVALID
    two.garbling.accept(extension)
    correction = two.evaluation.correction(words)
    assert code_of(lambda: two.garbling.labels(change(correction), own)) is ErrorCode.MESSAGE_INVALID
    two.garbling.labels(correction, own)
    done = two.run(words, own)
    assert code_of(lambda: two.evaluation.take(b"\0")) is ErrorCode.MESSAGE_INVALID
    assert code_of(lambda: two.evaluation.evaluate(change(done.labels))) is ErrorCode.MESSAGE_INVALID
    returned = two.evaluation.labels_to_return()
    assert code_of(lambda: two.garbling.open_outputs(change(returned))) is ErrorCode.MESSAGE_INVALID


def test_a_correction_wider_than_its_words_is_refused() -> None:
    two = Two.of("shares")
    two.transfer()
    wide = np.full((INSTANCES, 2), 2**BITS, "<u4").tobytes()
    assert code_of(lambda: two.garbling.labels(wide, values(3, 3))) is ErrorCode.MESSAGE_INVALID


def test_after_a_failed_check_no_transfer_is_taken() -> None:
    """Otherwise an evaluator could try one bit of delta after another."""
    two = Two.of("shares")
    points = two.garbling.points(two.evaluation.point())
    extension = two.evaluation.extension(points)
    flipped = extension[:-1] + bytes([extension[-1] ^ 1])
    for message in (flipped, extension, flipped):
        assert code_of(partial(two.garbling.accept, message)) is ErrorCode.CRYPTO_REFUSED
    assert code_of(two.garbling.tables) is ErrorCode.BATCH_OUT_OF_ORDER


@pytest.mark.parametrize("seed", range(6))
def test_points_with_a_flipped_bit_come_to_nothing(seed: int) -> None:
    two = Two.of("shares")
    points = bytearray(two.garbling.points(two.evaluation.point()))
    place = int(np.random.default_rng(seed).integers(8 * len(points)))
    points[place // 8] ^= 1 << place % 8

    def go_on() -> None:
        two.garbling.accept(two.evaluation.extension(bytes(points)))

    assert code_of(go_on) is ErrorCode.CRYPTO_REFUSED


def test_another_binding_on_one_side_comes_to_nothing() -> None:
    foreign = binding("querier", "party", "session", 8)
    two = replace(Two.of("shares"), evaluation=CircuitEvaluation(SHARED, foreign, source(1)))
    assert code_of(two.transfer) is ErrorCode.CRYPTO_REFUSED


@pytest.mark.parametrize("opening", OPENINGS)
@pytest.mark.parametrize("where", ["tables", "labels"])
def test_bits_flipped_on_the_way_to_the_evaluator_give_another_result_and_no_error(
    opening: Opening, where: str
) -> None:
    words, own = values(2, 2), values(3, 3)
    two = Two.of(opening)
    sent = two.run(words, own)
    right = two.evaluation.labels_to_return() or outputs(two.evaluation, opening).tobytes()
    tables = b"".join(sent.tables)
    noise = source(5)(max(len(tables), len(sent.labels)))
    other = Two.of(opening)
    other.transfer()
    other.evaluation.take(xor(tables, noise) if where == "tables" else tables)
    other.evaluation.correction(words)
    other.evaluation.evaluate(xor(sent.labels, noise) if where == "labels" else sent.labels)
    wrong = other.evaluation.labels_to_return() or outputs(other.evaluation, opening).tobytes()
    assert right != wrong
    if opening == "both":
        assert code_of(lambda: two.garbling.open_outputs(wrong)) is ErrorCode.CRYPTO_REFUSED


def outputs(evaluation: CircuitEvaluation, opening: Opening) -> NDArray[Any]:
    return evaluation.shares()[0] if opening == "shares" else evaluation.bits()


def xor(data: bytes, noise: bytes) -> bytes:
    return (np.frombuffer(data, np.uint8) ^ np.frombuffer(noise[: len(data)], np.uint8)).tobytes()


def test_a_returned_label_with_a_flipped_bit_is_refused() -> None:
    two = Two.of("both")
    two.run(values(2, 2), values(3, 3))
    returned = two.evaluation.labels_to_return()
    for place in range(0, 8 * len(returned), 97):
        flipped = bytearray(returned)
        flipped[place // 8] ^= 1 << place % 8
        assert code_of(partial(two.garbling.open_outputs, bytes(flipped))) is ErrorCode.CRYPTO_REFUSED


def test_what_the_garbler_sees_can_be_made_without_the_evaluators_words() -> None:
    """Point and transfer come before the words; every correction is reached by one choice of random words.

    So a simulator without the words sends uniform corrections, and what the garbler gets is the same.
    """
    first, second = Two.of("both"), Two.of("both")
    assert first.transfer() == second.transfer()
    words, others = values(2, 2), values(12, 2)
    one = np.frombuffer(first.evaluation.correction(words), "<u4").reshape(INSTANCES, 2)
    two = np.frombuffer(second.evaluation.correction(others), "<u4").reshape(INSTANCES, 2)
    mask = np.uint64(2**BITS - 1)
    assert np.array_equal((one - words) & mask, (two - others) & mask)


def test_returned_labels_depend_on_the_outputs_alone() -> None:
    words, own = values(2, 2), values(3, 3)
    first, second = Two.of("both"), Two.of("both")
    first.run(words, own)
    shift = values(13, 2)
    moved = own.copy()
    moved[:, :2] -= shift
    second.run(words + shift, moved)
    assert first.evaluation.labels_to_return() == second.evaluation.labels_to_return()


@pytest.mark.parametrize("value", [0, 2**BITS - 1])
def test_corrections_are_uniform_whatever_the_words_are(value: int) -> None:
    words = np.full((2000, 2), value, np.uint64)
    evaluation = CircuitEvaluation(Computation.of(circuit("shares"), 2000), BINDING, source(6))
    correction = np.frombuffer(evaluation.correction(words), "<u4")
    assert stats.chisquare(np.bincount(correction, minlength=2**BITS)).pvalue > P_VALUE


@pytest.mark.heavy
def test_shares_of_either_side_are_uniform() -> None:
    instances = 2000
    two = Two.of("shares", instances)
    two.run(np.zeros((instances, 2), np.uint64), np.zeros((instances, 3), np.uint64))
    for shares in (two.garbling.shares()[0], two.evaluation.shares()[0]):
        counts = np.bincount(shares.view(np.uint8).ravel(), minlength=256)
        assert stats.chisquare(counts).pvalue > P_VALUE


def test_no_two_labels_that_reach_the_evaluator_differ_by_delta() -> None:
    two = Two.of("both")
    sent = two.run(values(2, 2), values(3, 3))
    delta = two.garbling._delta
    labels = sent.labels[:-INSTANCES] + two.evaluation.labels_to_return()
    seen = np.frombuffer(labels + b"".join(sent.tables)[: 16 * 1000], "<u8")
    blocks = seen.reshape(-1, 2)
    assert not {block.tobytes() for block in blocks} & {block.tobytes() for block in blocks ^ delta}


def test_both_sides_have_one_context_which_the_garbler_completes() -> None:
    """It hangs on the binding, on the evaluator's point and on the garbler's, which come last."""
    two = Two.of("shares")
    assert code_of(lambda: two.garbling.context) is ErrorCode.BATCH_OUT_OF_ORDER
    point, points, _ = two.transfer()
    assert two.garbling.context == two.evaluation.context(points)
    contexts = {two.garbling.context}
    for seed, bound in ((SEED, binding("other")), (bytes(32), BINDING)):
        garbling = Garbling(SHARED, seed, bound)
        garbling.points(point)
        contexts.add(garbling.context)
    garbling = Garbling(SHARED, SEED, BINDING)
    garbling.points(Two.of("shares", seed=9).evaluation.point())
    assert len(contexts | {garbling.context}) == 4


def test_a_seed_shared_by_bindings_gives_each_its_own_secrets() -> None:
    first, second = (Garbling(SHARED, SEED, binding(place)) for place in (1, 2))
    assert not np.array_equal(first._delta, second._delta)
    point = Two.of("shares").evaluation.point()
    assert first.points(point) != second.points(point)


@pytest.mark.parametrize(
    "other",
    [
        ("a", "bc", 1),
        ("ab", "c", 2),
        ("ab", "c"),
        ("c", "ab", 1),
        ("ab", "c", "1"),
        ("ab", b"c", 1),
        ("abc", 1),
    ],
)
def test_a_binding_tells_parts_apart(other: tuple[str | int | bytes, ...]) -> None:
    assert binding("ab", "c", 1) != binding(*other)
    assert binding("ab", "c", 1) == binding("ab", "c", 1)


def test_production_draws_from_the_operating_system() -> None:
    points = {CircuitEvaluation(SHARED, BINDING).point() for _ in range(8)}
    assert len(points) == 8


def test_circuits_together_have_one_set_of_transfers_and_give_each_its_outputs() -> None:
    """Parts do not reach over circuits, and words of odd widths lie at bits that begin no byte."""
    first, second = circuit("shares"), Circuit(BITS, 2, 3, 1, "shares", build=first_above)
    both = Computation(((first, 9), (second, 13), (first, 1)))
    two = Two(Garbling(both, SEED, BINDING), CircuitEvaluation(both, BINDING, source(1)))
    words, own = values(2, 2, 23), values(3, 3, 23)
    sent = two.run(words, own)
    assert (len(sent.point), len(sent.points)) == (32, 128 * 32)
    assert (len(sent.extension), sum(map(len, sent.tables))) == (both.sizes.extension, both.sizes.tables)
    places = [(first, slice(0, 9)), (second, slice(9, 22)), (first, slice(22, 23))]
    shares = zip(two.garbling.shares(), two.evaluation.shares(), strict=True)
    for (one, place), (garbled, evaluated) in zip(places, shares, strict=True):
        assert np.array_equal(garbled + evaluated, in_the_clear(one, words[place], own[place]))


def first_above(gates: Gates, theirs: Wires, own: Wires) -> Wires:
    return above(gates, theirs, own)[:, :1]


@pytest.mark.parametrize(
    "runs",
    [
        (),
        ((circuit("both"), 2), (circuit("both"), 2)),
        ((circuit("shares"), 2), (circuit("shares", bits=8), 2)),
    ],
)
def test_circuits_that_do_not_fit_together_are_a_mistake(runs: tuple[tuple[Circuit, int], ...]) -> None:
    with pytest.raises(ValueError, match="circuit"):
        Computation(runs)


def test_what_opens_outputs_comes_with_the_labels_and_not_before() -> None:
    """Tables of the same gates are as long whether outputs open or not; only labels grow."""
    opened, closed = (Computation.of(circuit(opening), 8).sizes for opening in ("both", "shares"))
    ands = circuit("both").ands
    assert opened.tables == 8 * 32 * ands
    assert closed.tables == opened.tables + 8 * 3 * 4
    assert opened.labels == closed.labels + 8
