import json
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from nacl.signing import SigningKey
from pydantic import BaseModel, SecretBytes, SecretStr

from ostraka.common.telemetry.logs import MAX_DEPTH, redact_value
from ostraka.protos.ostraka.v1 import common_pb2, party_pb2

SECRET = b"ostrakon-ostrakon-ostrakon-ostra"


@dataclass
class Holder:
    seed: bytes
    hidden: bytes = field(default=SECRET, repr=False)

    def __str__(self) -> str:
        return SECRET.decode()


class Model(BaseModel):
    token: str = SECRET.decode()


class Kind(StrEnum):
    PLAIN = "plain"


SECRETS: dict[str, Any] = {
    "bytes": SECRET,
    "bytearray": bytearray(SECRET),
    "memoryview": memoryview(SECRET),
    "array": np.frombuffer(SECRET, np.uint8),
    "scalar": np.frombuffer(SECRET, "S32")[0],
    "tensor": torch.frombuffer(bytearray(SECRET), dtype=torch.uint8),
    "message": party_pb2.VoteReplyHeader(rows=1, seed=SECRET),
    "nested message": common_pb2.Signed(payload=SECRET),
    "secret text": SecretStr(SECRET.decode()),
    "secret bytes": SecretBytes(SECRET),
    "object": Holder(SECRET),
    "model": Model(),
    "error": ValueError(SECRET),
    "signing key": SigningKey(SECRET),
    "private key": Ed25519PrivateKey.from_private_bytes(SECRET),
}


@pytest.mark.parametrize("name", SECRETS)
@pytest.mark.parametrize("wrap", [lambda x: x, lambda x: [x], lambda x: {"a": ({"b": x}, 1)}])
def test_no_secret_is_written_wherever_it_is(name: str, wrap: Any) -> None:
    secret = SECRETS[name]
    written = json.dumps(redact_value(wrap(secret)))
    assert f"<redacted {type(secret).__name__}" in written
    for shown in (SECRET.decode(), SECRET.hex(), str(list(SECRET))[1:-1], "111, 115, 116"):
        assert shown not in written


def test_a_private_key_in_text_is_cut_out() -> None:
    pem = Ed25519PrivateKey.generate().private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    assert redact_value(f"read {pem.decode()}") == "read <redacted private key>\n"


def test_keys_of_a_mapping_are_redacted_too() -> None:
    assert redact_value({SECRET: 1}) == {"<redacted bytes, 32>": 1}


def test_what_is_plain_stays(tmp_path: Path) -> None:
    plain = {"text": "a", "count": 3, "share": 0.5, "yes": True, "none": None, "list": ["b", ["c"]]}
    assert redact_value(plain) == plain
    assert redact_value(tmp_path) == tmp_path
    assert redact_value(Kind.PLAIN) == "plain"


def test_containers_in_themselves_end() -> None:
    endless: list[Any] = []
    endless.append(endless)
    assert "<redacted list>" in json.dumps(redact_value(endless))


def test_containers_are_looked_into_so_deep_and_no_deeper() -> None:
    value: Any = "x"
    for _ in range(MAX_DEPTH):
        value = [value]
    assert redact_value(value) == value
    assert "'x'" in str(redact_value(value))
    assert "'x'" not in str(redact_value([value]))
