from functools import partial
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from ostraka.common.errors import ErrorCode
from ostraka.guardian.ledger import Cipher, load_or_create_key
from tests.guardian.ledger.support import cipher, refused


def test_what_was_sealed_opens_for_its_row_alone() -> None:
    sealed = cipher().seal(7, "unit", "athens", 3)
    assert cipher().unseal(sealed, "unit", "athens", 3) == 7
    rows: list[tuple[str | int, ...]] = [("unit", "athens", 4), ("unit", "athens"), ("unit", "athens", "3")]
    for row in rows:
        refused(ErrorCode.LEDGER_TAMPERED, partial(cipher().unseal, sealed, *row))


def test_altered_or_cut_bytes_and_other_keys_do_not_open() -> None:
    sealed = cipher().seal(7, "row")
    for bad in (b"", sealed[:-1], sealed[:-1] + bytes([sealed[-1] ^ 1])):
        refused(ErrorCode.LEDGER_TAMPERED, partial(cipher().unseal, bad, "row"))
    refused(ErrorCode.LEDGER_TAMPERED, lambda: Cipher(b"k" * 32).unseal(sealed, "row"))


@pytest.mark.parametrize(
    ("key", "row", "expected"),
    [
        (b"\1", b"", "ce546ef63c9cc60765923609b33a9a1974e96e52daf2fcf7075e2271"),
        (b"\3", b"c2sp.org/XAES-256-GCM", "986ec1832593df5443a179437fd083bf3fdb41abd740a21f71eb769d"),
    ],
)
def test_bytes_are_those_of_the_specification(
    key: bytes, row: bytes, expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The test vectors of https://c2sp.org/XAES-256-GCM."""
    monkeypatch.setattr("ostraka.guardian.ledger.store.cipher._bind", lambda _: row)
    nonce = b"ABCDEFGHIJKLMNOPQRSTUVWX"
    made = Cipher(32 * key, random=lambda _: nonce)
    assert made.seal_bytes(b"XAES-256-GCM") == nonce + bytes.fromhex(expected)
    assert made.unseal_bytes(nonce + bytes.fromhex(expected)) == b"XAES-256-GCM"


def test_what_an_earlier_version_sealed_still_opens() -> None:
    key = b"k" * 32
    nonce = b"n" * 12
    row = b'["ostraka/v1/ledger","row"]'
    sealed = nonce + AESGCM(key).encrypt(nonce, (7).to_bytes(16, "big"), row)
    assert Cipher(key).unseal(sealed, "row") == 7
    refused(ErrorCode.LEDGER_TAMPERED, lambda: Cipher(key).unseal(sealed, "another row"))


def test_equal_amounts_do_not_look_equal() -> None:
    assert cipher().seal(7, "row") != cipher().seal(7, "row")


def test_a_key_is_made_once_and_for_its_owner(tmp_path: Path) -> None:
    key = load_or_create_key(tmp_path)
    assert len(key) == 32
    assert load_or_create_key(tmp_path) == key
    assert (tmp_path / "ledger.key").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    ("content", "mode", "told"), [(b"short", 0o600, "5 bytes"), (b"k" * 32, 0o640, "chmod 600")]
)
def test_a_key_that_is_cut_or_shown_is_refused(tmp_path: Path, content: bytes, mode: int, told: str) -> None:
    path = tmp_path / "ledger.key"
    path.write_bytes(content)
    path.chmod(mode)
    assert told in refused(ErrorCode.CONFIG_INVALID, lambda: load_or_create_key(tmp_path)).message
