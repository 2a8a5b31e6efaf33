import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDFExpand
from scipy import stats

from ostraka.common.crypto.stream import Stream

SEED = bytes(range(32))
P_VALUE = 1e-9


def test_the_stream_is_aes_in_counter_mode_under_a_key_for_the_purpose() -> None:
    key = HKDFExpand(SHA256(), 32, b"labels").derive(SEED)
    stream = Cipher(algorithms.AES256(key), modes.CTR(bytes(16))).encryptor()
    assert Stream(SEED, "labels").octets(100) == stream.update(bytes(100))


def test_a_stream_is_the_same_in_pieces_and_in_every_shape() -> None:
    whole = Stream(SEED, "labels").octets(96)
    pieces = Stream(SEED, "labels")
    assert b"".join(pieces.octets(count) for count in (1, 30, 65)) == whole
    assert Stream(SEED, "labels").blocks(2, 3).astype("<u8").tobytes() == whole
    assert Stream(SEED, "labels").ring(32, 24).astype("<u4").tobytes() == whole
    assert Stream(SEED, "labels").ring(64, 4, 3).astype("<u8").tobytes() == whole


def test_other_seeds_and_purposes_have_other_streams() -> None:
    streams = {Stream(seed, purpose).octets(32) for seed in (SEED, bytes(32)) for purpose in ("a", "b", "ab")}
    assert len(streams) == 6


@pytest.mark.parametrize("bits", [1, 8, 20, 32, 33, 64])
def test_ring_values_are_uniform_and_fill_their_range(bits: int) -> None:
    values = Stream(SEED, f"ring {bits}").ring(bits, 100, 200)
    assert values.shape == (100, 200)
    assert int(values.max()) < 2**bits
    for shift in (0, max(bits - 8, 0)):
        octets = (values >> np.uint64(shift)).astype(np.uint8).reshape(-1)
        observed = np.bincount(octets, minlength=min(256, 2**bits))
        assert stats.chisquare(observed).pvalue > P_VALUE


@pytest.mark.parametrize("size", [0, 16, 31, 33])
def test_a_seed_has_32_bytes(size: int) -> None:
    with pytest.raises(ValueError, match="32 bytes"):
        Stream(bytes(size), "labels")
