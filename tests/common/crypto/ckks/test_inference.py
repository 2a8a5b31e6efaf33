"""Encrypted inference against the same heads in the clear."""

import os
from pathlib import Path

import numpy as np
import pytest

from common.crypto.ckks.evaluation import Evaluator
from common.crypto.ckks.heads import EncryptedHead
from common.crypto.ckks.keys import FEATURE_LIMIT, QueryKeys
from common.crypto.ckks.parameters import LOGIT_BITS, LOGIT_FRACTION
from common.crypto.ckks.wire import logits_bytes, most_public_bytes, queries_bytes
from common.errors import ErrorCode, OstrakaError
from tests.common.crypto.ckks.models import SEED, affine, logits, random_head, signed

PRECISION = 2**-10
RNG = np.random.default_rng(0)


def test_linear_heads(linear_keys: QueryKeys) -> None:
    X = RNG.uniform(0, 1, (300, 30))
    heads = [random_head(RNG, (30, 7), X), random_head(RNG, (30, 3), X)]
    for head, found in zip(heads, logits(linear_keys, heads, X), strict=True):
        assert np.abs(found - head.plain(X)).max() < PRECISION


def test_square_heads(square_keys: QueryKeys) -> None:
    X = RNG.uniform(0, 1, (300, 20))
    heads = [random_head(RNG, (20, 6, 4), X), random_head(RNG, (20, 3, 4), X)]
    for head, found in zip(heads, logits(square_keys, heads, X), strict=True):
        assert np.abs(found - head.plain(X)).max() < PRECISION


def test_more_heads_than_are_evaluated_at_once(
    linear_keys: QueryKeys, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("common.crypto.ckks.evaluation._ROWS", 5)
    X = RNG.uniform(0, 1, (10, 4))
    heads = [random_head(RNG, (4, outputs), X) for outputs in (2, 2, 3, 6, 1)]
    for head, found in zip(heads, logits(linear_keys, heads, X), strict=True):
        assert np.abs(found - head.plain(X)).max() < PRECISION


def test_every_slot_is_a_query_and_one_feature_is_enough(linear_keys: QueryKeys) -> None:
    X = RNG.uniform(-1, 1, (linear_keys.parameters.slots, 1))
    head = random_head(RNG, (1, 2), X)
    assert np.abs(logits(linear_keys, [head], X)[0] - head.plain(X)).max() < PRECISION


def test_constant_heads(linear_keys: QueryKeys, square_keys: QueryKeys) -> None:
    X = RNG.uniform(0, 1, (5, 3))
    bias = np.array([0.5, -0.5, 0.0])
    linear = EncryptedHead((affine(np.zeros((3, 3)), bias),))
    square = EncryptedHead((affine(np.zeros((1, 3)), np.zeros(1)), affine(np.zeros((3, 1)), bias)))
    for keys, head in ((linear_keys, linear), (square_keys, square)):
        assert np.abs(logits(keys, [head], X)[0] - bias).max() < PRECISION


def test_raw_features_with_their_scaler_folded_in(linear_keys: QueryKeys) -> None:
    X = RNG.uniform(-1, 1, (50, 3)) * np.array([FEATURE_LIMIT, 1e-2, 1.0])
    head = EncryptedHead((affine(np.array([[1 / FEATURE_LIMIT, 50.0, 0.5]]) / 3, np.zeros(1)),))
    assert np.abs(logits(linear_keys, [head], X)[0] - head.plain(X)).max() < PRECISION


def test_logits_beyond_the_range_wrap(linear_keys: QueryKeys) -> None:
    head = EncryptedHead((affine(np.ones((1, 1)), np.zeros(1)),))
    X = np.array([[3.5], [4.5], [-4.5], [1e6]])
    found = logits(linear_keys, [head], X)[0]
    size = 2.0 ** (LOGIT_BITS - LOGIT_FRACTION)
    distance = (found - head.plain(X) + size / 2) % size - size / 2
    assert np.abs(distance).max() < PRECISION
    assert abs(found[0, 0] - 3.5) < PRECISION


def test_masks_come_from_the_seed_and_zeros_are_fresh(linear_keys: QueryKeys) -> None:
    X = RNG.uniform(0, 1, (6, 2))
    heads = [random_head(RNG, (2, 2), X)] * 2
    evaluator = Evaluator(linear_keys.parameters, linear_keys.public())
    queries = linear_keys.encrypt(X)
    first, again, other = (
        list(evaluator.logits(heads, queries, seed, 6)) for seed in (SEED, SEED, bytes(32))
    )
    assert (first[0].shares == again[0].shares).all()
    assert first[0].ciphertexts != again[0].ciphertexts
    assert (first[0].shares != other[0].shares).any()
    assert (first[0].shares != first[1].shares).any()
    assert (first[0].shares[0] != first[0].shares[1]).any()


def test_the_same_queries_are_encrypted_freshly(linear_keys: QueryKeys) -> None:
    X = np.zeros((1, 2))
    first, second = linear_keys.encrypt(X), linear_keys.encrypt(X)
    columns = np.frombuffer(first, np.uint8)[64:].reshape(2, -1)
    assert first[:32] == second[:32]
    assert first[32:64] != second[32:64]
    assert np.mean(columns[0] == columns[1]) < 0.01
    assert np.mean(np.frombuffer(first[64:], np.uint8) == np.frombuffer(second[64:], np.uint8)) < 0.01


@pytest.mark.parametrize("kind", ["linear", "square"])
def test_sizes_are_known_beforehand(kind: str, request: pytest.FixtureRequest) -> None:
    keys: QueryKeys = request.getfixturevalue(f"{kind}_keys")
    X = RNG.uniform(0, 1, (5, 3))
    widths = (3, 2) if kind == "linear" else (3, 4, 2)
    public, queries = keys.public(), keys.encrypt(X)
    assert 0.5 * most_public_bytes(keys.parameters) < len(public) <= most_public_bytes(keys.parameters)
    assert len(queries) == queries_bytes(keys.parameters, 3)
    masked = next(Evaluator(keys.parameters, public).logits([random_head(RNG, widths, X)], queries, SEED, 5))
    assert len(masked.ciphertexts) == logits_bytes(keys.parameters, 2) == keys.reply_bytes(2)
    assert masked.shares.shape == (2, 5)


@pytest.mark.parametrize(
    ("alter", "code", "match"),
    [
        (lambda data: data[:-1], ErrorCode.MESSAGE_INVALID, "take"),
        (lambda data: data + b"\0", ErrorCode.MESSAGE_INVALID, "take"),
        (lambda data: data[:40], ErrorCode.MESSAGE_INVALID, "take"),
        (lambda data: data[:-5] + b"\xff" * 5, ErrorCode.MESSAGE_INVALID, "beyond its modulus"),
        (lambda data: bytes(32) + data[32:], ErrorCode.CRYPTO_REFUSED, "other encryption parameters"),
        (lambda _: b"", ErrorCode.CRYPTO_REFUSED, "other encryption parameters"),
    ],
)
def test_damaged_queries_are_refused(linear_keys: QueryKeys, alter, code, match) -> None:  # type: ignore[no-untyped-def]
    X = np.zeros((2, 2))
    head = EncryptedHead((affine(np.ones((1, 2)), np.zeros(1)),))
    evaluator = Evaluator(linear_keys.parameters, linear_keys.public())
    with pytest.raises(OstrakaError, match=match) as refused:
        list(evaluator.logits([head], alter(linear_keys.encrypt(X)), SEED, 2))
    assert refused.value.code == code


@pytest.mark.parametrize("kind", ["linear", "square"])
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
def test_damaged_keys_are_refused(kind: str, alter, request: pytest.FixtureRequest) -> None:  # type: ignore[no-untyped-def]
    keys: QueryKeys = request.getfixturevalue(f"{kind}_keys")
    with pytest.raises(OstrakaError, match="cannot be read") as refused:
        Evaluator(keys.parameters, alter(keys.public()))
    assert refused.value.code == ErrorCode.CRYPTO_REFUSED


def test_foreign_keys_are_refused(linear_keys: QueryKeys, square_keys: QueryKeys) -> None:
    for keys, other in ((linear_keys, square_keys), (square_keys, linear_keys)):
        with pytest.raises(OstrakaError) as refused:
            Evaluator(keys.parameters, other.public())
        assert refused.value.code in (ErrorCode.CRYPTO_REFUSED, ErrorCode.MESSAGE_INVALID)
        disguised = keys.parameters.digest + other.public()[32:]
        with pytest.raises(OstrakaError) as refused:
            Evaluator(keys.parameters, disguised)
        assert refused.value.code in (ErrorCode.CRYPTO_REFUSED, ErrorCode.MESSAGE_INVALID)


def test_endless_keys_are_refused_unread(linear_keys: QueryKeys) -> None:
    with pytest.raises(OstrakaError, match="at most") as refused:
        Evaluator(linear_keys.parameters, linear_keys.public() + bytes(10**6))
    assert refused.value.code == ErrorCode.MESSAGE_INVALID


def test_another_partys_keys_give_nothing_but_noise(linear_keys: QueryKeys) -> None:
    X = np.full((100, 2), 0.25)
    head = EncryptedHead((affine(np.ones((1, 2)), np.zeros(1)),))
    foreign = QueryKeys(linear_keys.parameters)
    evaluator = Evaluator(linear_keys.parameters, foreign.public())
    masked = next(evaluator.logits([head], linear_keys.encrypt(X), SEED, 100))
    for keys in (linear_keys, foreign):
        assert (
            np.abs(signed(keys.decrypt(masked.ciphertexts, 100) + masked.shares) - 0.5) > 0.1
        ).mean() > 0.5


@pytest.mark.parametrize("size", [0, -1, 1])
def test_damaged_logits_are_refused(linear_keys: QueryKeys, size: int) -> None:
    data = bytes(linear_keys.reply_bytes(1) + size) if size else b""
    with pytest.raises(OstrakaError, match="Ciphertexts take") as refused:
        linear_keys.decrypt(data, 1)
    assert refused.value.code == ErrorCode.MESSAGE_INVALID


def test_logits_beyond_the_modulus_are_refused(linear_keys: QueryKeys) -> None:
    with pytest.raises(OstrakaError, match="beyond its modulus"):
        linear_keys.decrypt(b"\xff" * linear_keys.reply_bytes(1), 1)


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (4097, 1), (3,)])
def test_queries_of_another_shape_are_refused(linear_keys: QueryKeys, shape: tuple[int, ...]) -> None:
    with pytest.raises(OstrakaError) as refused:
        linear_keys.encrypt(np.zeros(shape))
    assert refused.value.code == ErrorCode.DATA_SHAPE


@pytest.mark.parametrize("value", [np.nan, np.inf, 2 * FEATURE_LIMIT])
def test_features_that_cannot_be_encoded_are_refused(linear_keys: QueryKeys, value: float) -> None:
    with pytest.raises(OstrakaError, match="finite and within") as refused:
        linear_keys.encrypt(np.array([[value]]))
    assert refused.value.code == ErrorCode.DATA_NAN


def test_weights_that_are_too_large_are_refused(linear_keys: QueryKeys) -> None:
    evaluator = Evaluator(linear_keys.parameters, linear_keys.public())
    queries = linear_keys.encrypt(np.zeros((1, 1)))
    for weight, bias in ((1025.0, 0.0), (0.0, 1025.0)):
        head = EncryptedHead((affine(np.array([[weight]]), np.array([bias])),))
        with pytest.raises(OstrakaError, match="too large for encrypted queries") as refused:
            list(evaluator.logits([head], queries, SEED, 1))
        assert refused.value.code == ErrorCode.PARTY_NOT_ENCRYPTED
        assert "1025" not in refused.value.message


def test_heads_of_another_kind_are_a_mistake(linear_keys: QueryKeys) -> None:
    X = np.ones((1, 2))
    evaluator = Evaluator(linear_keys.parameters, linear_keys.public())
    queries = linear_keys.encrypt(X)
    with pytest.raises(ValueError, match="heads of 1 layers"):
        list(evaluator.logits([random_head(RNG, (2, 2, 1), X)], queries, SEED, 1))
    with pytest.raises(ValueError, match="the same features"):
        list(evaluator.logits([random_head(RNG, (n, 1), X[:, :n]) for n in (1, 2)], queries, SEED, 1))


@pytest.mark.skipif(
    not Path("/proc/self/fd").exists(), reason="open files are listed in /proc on Linux alone"
)
def test_nothing_stays_open_or_on_disk(
    linear_keys: QueryKeys, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    before = len(list(Path("/proc/self/fd").iterdir()))
    X = np.ones((1, 2))
    logits(linear_keys, [random_head(RNG, (2, 2), X)], X)
    assert len(list(Path("/proc/self/fd").iterdir())) == before
    assert list(tmp_path.iterdir()) == []
