import hashlib

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from ostraka.common.crypto.blocks import from_bytes, to_bytes
from ostraka.common.crypto.garbling import Permutation, TweakedHash

BINDING = bytes(range(32))


def test_the_permutation_is_aes_as_published() -> None:
    """FIPS 197, appendix C.1."""
    permutation = Permutation(bytes.fromhex("000102030405060708090a0b0c0d0e0f"))
    plain = from_bytes(bytes.fromhex("00112233445566778899aabbccddeeff"))
    assert to_bytes(permutation(plain)).hex() == "69c4e0d86a7b0430d8cdb78070b4c55a"


def test_the_hash_is_tmmo_written_out_byte_by_byte() -> None:
    tweaked_hash = TweakedHash(BINDING, 3)
    purpose = b"str:24:key of the garbling hash"
    text = b"bytes:32:" + BINDING + purpose + b"bytes:8:" + (3).to_bytes(8, "little")
    key = hashlib.sha256(text).digest()[:16]
    blocks = from_bytes(bytes(range(64)), 4)
    tweaked_hash.tweaks(5)
    hashes = to_bytes(tweaked_hash(blocks, tweaked_hash.tweaks(4)))
    for place in range(4):
        encrypt = Cipher(algorithms.AES128(key), modes.ECB()).encryptor().update  # noqa: S305
        inner = int.from_bytes(encrypt(bytes(range(16 * place, 16 * place + 16))), "little")
        outer = int.from_bytes(encrypt((inner ^ (5 + place)).to_bytes(16, "little")), "little")
        assert hashes[16 * place : 16 * place + 16] == (outer ^ inner).to_bytes(16, "little")


def test_tweaks_are_counted_and_never_repeated() -> None:
    tweaked_hash = TweakedHash(BINDING, 0)
    tweaks = np.concatenate([tweaked_hash.tweaks(count) for count in (3, 0, 4)])
    assert tweaks.tolist() == list(range(7))


def test_one_label_hashes_differently_under_another_tweak_binding_or_part() -> None:
    label = from_bytes(bytes(16))[None]
    hashes = {
        to_bytes(tweaked_hash(label, np.array([tweak], np.uint64)))
        for binding in (BINDING, bytes(32))
        for part in (0, 1)
        for tweak in (0, 1)
        for tweaked_hash in [TweakedHash(binding, part)]
    }
    assert len(hashes) == 8


def test_no_blocks_have_no_hashes() -> None:
    tweaked_hash = TweakedHash(BINDING, 0)
    assert tweaked_hash(from_bytes(b"", 0), tweaked_hash.tweaks(0)).shape == (0, 2)
