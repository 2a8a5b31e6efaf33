"""Encrypted inference against the same heads in the clear, under both schemes."""

import os
from pathlib import Path

import numpy as np
import pytest

from ostraka.common.crypto.ckks.parameters import SQUARES
from ostraka.common.crypto.heads import EncryptedHead
from ostraka.common.crypto.inference import FEATURE_LIMIT, QUERIES
from ostraka.common.crypto.linear.linear_ring import DEGREE
from ostraka.common.crypto.logits import LOGIT_BITS, LOGIT_FRACTION
from ostraka.common.errors import ErrorCode, OstrakaError
from tests.common.crypto.models import CONTEXT, SEED, Sides, affine, opened, random_head, signed

PRECISION = 2**-10
RNG = np.random.default_rng(0)


def widths(sides: Sides, inputs: int, outputs: int) -> tuple[int, ...]:
    """Layers of a small head of the kind that these sides evaluate."""
    return (inputs, outputs) if "Linear" in type(sides.scheme).__name__ else (inputs, 4, outputs)


def silent(sides: Sides, bias: np.ndarray, inputs: int = 3) -> EncryptedHead:
    """Return a head whose weights are all zero."""
    *hidden, outputs = widths(sides, inputs, len(bias))[1:]
    last = affine(np.zeros((outputs, (hidden or [inputs])[0])), bias)
    return EncryptedHead((*(affine(np.zeros((n, inputs)), np.zeros(n)) for n in hidden), last))


def test_both_schemes_hold_as_many_queries() -> None:
    assert QUERIES == DEGREE == SQUARES.degree // 2


@pytest.mark.heavy
def test_logits_are_those_in_the_clear(either: Sides) -> None:
    X = RNG.uniform(0, 1, (300, 30))
    heads = [random_head(RNG, widths(either, 30, outputs), X) for outputs in (7, 3)]
    for head, found in zip(heads, either.logits(heads, X), strict=True):
        assert np.abs(found - head.plain(X)).max() < PRECISION


@pytest.mark.heavy
def test_more_heads_than_are_evaluated_at_once(either: Sides, monkeypatch: pytest.MonkeyPatch) -> None:
    for package in ("linear", "ckks"):
        monkeypatch.setattr(f"ostraka.common.crypto.{package}.{package}_scheme._ROWS", 5)
    X = RNG.uniform(0, 1, (10, 4))
    heads = [random_head(RNG, widths(either, 4, outputs), X) for outputs in (2, 2, 3, 6, 1)]
    for head, found in zip(heads, either.logits(heads, X), strict=True):
        assert np.abs(found - head.plain(X)).max() < PRECISION


def test_a_full_batch_of_one_feature(linear: Sides) -> None:
    X = RNG.uniform(-1, 1, (QUERIES, 1))
    head = random_head(RNG, (1, 2), X)
    assert np.abs(linear.logits([head], X)[0] - head.plain(X)).max() < PRECISION


def test_constant_heads(either: Sides) -> None:
    bias = np.array([0.5, -0.5, 0.0])
    found = either.logits([silent(either, bias)], RNG.uniform(0, 1, (5, 3)))[0]
    assert np.abs(found - bias).max() < PRECISION


def test_raw_features_with_their_scaler_folded_in(linear: Sides) -> None:
    X = RNG.uniform(-1, 1, (50, 3)) * np.array([FEATURE_LIMIT, 1e-2, 1.0])
    head = EncryptedHead((affine(np.array([[1 / FEATURE_LIMIT, 50.0, 0.5]]) / 3, np.zeros(1)),))
    assert np.abs(linear.logits([head], X)[0] - head.plain(X)).max() < PRECISION


def test_logits_beyond_the_range_wrap(linear: Sides) -> None:
    head = EncryptedHead((affine(np.ones((1, 1)), np.zeros(1)),))
    X = np.array([[3.5], [4.5], [-4.5], [1e6]])
    found = linear.logits([head], X)[0]
    size = 2.0 ** (LOGIT_BITS - LOGIT_FRACTION)
    distance = (found - head.plain(X) + size / 2) % size - size / 2
    assert np.abs(distance).max() < PRECISION
    assert abs(found[0, 0] - 3.5) < PRECISION


@pytest.mark.heavy
def test_masks_come_from_the_seed(either: Sides) -> None:
    X = RNG.uniform(0, 1, (6, 2))
    heads = [random_head(RNG, widths(either, 2, 2), X)] * 2
    evaluator, queries = either.evaluator(), either.keys.encrypt(X)
    first, again, other = (
        list(evaluator.logits(heads, queries, seed, 6)) for seed in (SEED, SEED, bytes(32))
    )
    assert (first[0].shares == again[0].shares).all()
    assert (first[0].shares != other[0].shares).any()
    assert (first[0].shares != first[1].shares).any()
    assert (first[0].shares[0] != first[0].shares[1]).any()


def test_the_same_queries_are_encrypted_freshly(either: Sides) -> None:
    X = np.zeros((1, 2))
    first, second = either.keys.encrypt(X), either.keys.encrypt(X)
    columns = np.frombuffer(first, np.uint8)[64:].reshape(2, -1)
    assert first[:32] == second[:32]
    assert first[32:64] != second[32:64]
    assert np.mean(columns[0] == columns[1]) < 0.01
    assert np.mean(np.frombuffer(first[64:], np.uint8) == np.frombuffer(second[64:], np.uint8)) < 0.01


def test_sizes_are_known_beforehand(either: Sides) -> None:
    X = RNG.uniform(0, 1, (5, 3))
    public, queries = either.keys.public(CONTEXT), either.keys.encrypt(X)
    most = either.scheme.most_public_bytes()
    assert 0.5 * most < len(public) <= most
    assert len(queries) == either.scheme.queries_bytes(3, 5)
    head = random_head(RNG, widths(either, 3, 2), X)
    masked = next(either.evaluator().logits([head], queries, SEED, 5))
    assert len(masked.ciphertexts) == either.scheme.logits_bytes(2, 5) == either.keys.reply_bytes(2, 5)
    assert masked.shares.shape == (2, 5)


@pytest.mark.parametrize(
    ("alter", "code", "match"),
    [
        (lambda data: data[:-1], ErrorCode.MESSAGE_INVALID, "take"),
        (lambda data: data + b"\0", ErrorCode.MESSAGE_INVALID, "take"),
        (lambda data: data[:40], ErrorCode.MESSAGE_INVALID, "take"),
        (lambda data: bytes(32) + data[32:], ErrorCode.CRYPTO_REFUSED, "other (encryption )?parameters"),
        (lambda _: b"", ErrorCode.CRYPTO_REFUSED, "other (encryption )?parameters"),
    ],
)
def test_damaged_queries_are_refused(either: Sides, alter, code, match) -> None:  # type: ignore[no-untyped-def]
    X = np.zeros((2, 2))
    queries = alter(either.keys.encrypt(X))
    with pytest.raises(OstrakaError, match=match) as refused:
        list(either.evaluator().logits([silent(either, np.zeros(1), 2)], queries, SEED, 2))
    assert refused.value.code == code


def test_queries_beyond_their_modulus_are_refused(square: Sides) -> None:
    queries = square.keys.encrypt(np.zeros((2, 2)))[:-5] + b"\xff" * 5
    with pytest.raises(OstrakaError, match="beyond its modulus") as refused:
        list(square.evaluator().logits([silent(square, np.zeros(1), 2)], queries, SEED, 2))
    assert refused.value.code == ErrorCode.MESSAGE_INVALID


@pytest.mark.parametrize("alter", [lambda data: data[:-1], lambda data: data + b"\0", lambda _: b""])
def test_a_public_key_of_another_size_is_refused(linear: Sides, alter) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(OstrakaError, match="The public key") as refused:
        linear.scheme.evaluator(alter(linear.keys.public(CONTEXT)), CONTEXT)
    assert refused.value.code == ErrorCode.MESSAGE_INVALID


@pytest.mark.parametrize(
    "alter",
    [
        lambda data: data[:-1],
        lambda data: data + b"\0",
        lambda data: data[:45],
        lambda data: data[:40] + bytes(len(data) - 40),
        lambda data: data[:32] + (2**63).to_bytes(8, "little") + data[40:],
        lambda data: data[:32] + os.urandom(len(data) - 32),
    ],
)
def test_damaged_keys_for_squares_are_refused(square: Sides, alter) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(OstrakaError, match="cannot be read") as refused:
        square.scheme.evaluator(alter(square.keys.public(CONTEXT)), CONTEXT)
    assert refused.value.code == ErrorCode.CRYPTO_REFUSED


def test_keys_of_the_other_scheme_are_refused(linear: Sides, square: Sides) -> None:
    for sides, other in ((linear, square), (square, linear)):
        with pytest.raises(OstrakaError) as refused:
            sides.scheme.evaluator(other.keys.public(CONTEXT), CONTEXT)
        assert refused.value.code in (ErrorCode.CRYPTO_REFUSED, ErrorCode.MESSAGE_INVALID)


def test_endless_keys_are_refused_unread(square: Sides) -> None:
    with pytest.raises(OstrakaError, match="at most") as refused:
        square.scheme.evaluator(square.keys.public(CONTEXT) + bytes(10**7), CONTEXT)
    assert refused.value.code == ErrorCode.MESSAGE_INVALID


@pytest.mark.parametrize("context", [CONTEXT, bytes(32)])
def test_a_key_of_another_party_or_batch_gives_nothing_but_noise(linear: Sides, context: bytes) -> None:
    """Of another querying party's key for this batch, and of the own key for another batch."""
    X = np.full((100, 2), 0.25)
    head = EncryptedHead((affine(np.ones((1, 2)), np.zeros(1)),))
    foreign = Sides.of("linear") if context == CONTEXT else linear
    evaluator = linear.scheme.evaluator(foreign.keys.public(context), CONTEXT)
    masked = next(evaluator.logits([head], linear.keys.encrypt(X), SEED, 100))
    for keys in (linear.keys, foreign.keys):
        assert (np.abs(opened(keys, masked) - 0.5) > 0.1).mean() > 0.5


@pytest.mark.parametrize("size", [0, -1, 1])
def test_damaged_logits_are_refused(either: Sides, size: int) -> None:
    data = bytes(either.keys.reply_bytes(1, 1) + size) if size else b""
    with pytest.raises(OstrakaError, match="Ciphertexts take") as refused:
        either.keys.decrypt(data, 1)
    assert refused.value.code == ErrorCode.MESSAGE_INVALID


def test_logits_beyond_the_modulus_are_refused(square: Sides) -> None:
    with pytest.raises(OstrakaError, match="beyond its modulus"):
        square.keys.decrypt(b"\xff" * square.keys.reply_bytes(1, 1), 1)


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (4097, 1), (3,)])
def test_queries_of_another_shape_are_refused(either: Sides, shape: tuple[int, ...]) -> None:
    with pytest.raises(OstrakaError) as refused:
        either.keys.encrypt(np.zeros(shape))
    assert refused.value.code == ErrorCode.DATA_SHAPE


@pytest.mark.parametrize("value", [np.nan, np.inf, 2 * FEATURE_LIMIT])
def test_features_that_cannot_be_encoded_are_refused(either: Sides, value: float) -> None:
    with pytest.raises(OstrakaError, match="finite and within") as refused:
        either.keys.encrypt(np.array([[value]]))
    assert refused.value.code == ErrorCode.DATA_NAN


def test_weights_that_are_too_large_are_refused(either: Sides) -> None:
    queries = either.keys.encrypt(np.zeros((1, 1)))
    for weight, bias in ((1025.0, 0.0), (0.0, -1025.0)):
        *first, last = silent(either, np.zeros(1), 1).layers
        large = affine(np.full(last.weights.shape, weight), np.array([bias]))
        with pytest.raises(OstrakaError, match="too large for encrypted queries") as refused:
            list(either.evaluator().logits([EncryptedHead((*first, large))], queries, SEED, 1))
        assert refused.value.code == ErrorCode.PARTY_NOT_ENCRYPTED
        assert "1025" not in refused.value.message


def test_heads_of_another_kind_are_a_mistake(either: Sides) -> None:
    X = np.ones((1, 2))
    queries, evaluator = either.keys.encrypt(X), either.evaluator()
    deeper = random_head(RNG, (2, 2, 2, 1), X)
    with pytest.raises(ValueError, match=r"heads of [12] layers"):
        list(evaluator.logits([deeper], queries, SEED, 1))
    differing = [random_head(RNG, widths(either, n, 1), X[:, :n]) for n in (1, 2)]
    with pytest.raises(ValueError, match="the same features"):
        list(evaluator.logits(differing, queries, SEED, 1))


@pytest.mark.skipif(
    not Path("/proc/self/fd").exists(), reason="open files are listed in /proc on Linux alone"
)
def test_nothing_stays_open_or_on_disk(
    square: Sides, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    before = len(list(Path("/proc/self/fd").iterdir()))
    X = np.ones((1, 2))
    square.logits([random_head(RNG, (2, 2, 2), X)], X)
    assert len(list(Path("/proc/self/fd").iterdir())) == before
    assert list(tmp_path.iterdir()) == []


def test_nothing_secret_is_shown(either: Sides) -> None:
    evaluator = either.evaluator()
    queries = either.keys.encrypt(np.zeros((1, 3)))
    masked = next(evaluator.logits([silent(either, np.zeros(2))], queries, SEED, 1))
    assert repr(masked) == "MaskedLogits()"
    assert "[" not in repr(either.keys) + repr(evaluator)
    assert signed(masked.shares).shape == (2, 1)
