"""SEAL's context, and its objects as arrays of residues.

Ciphertexts are written and read in the format of the SEAL inside TenSEAL 0.3.18, which is not guaranteed to
be stable. So any other version is refused when this module is imported.
"""

import math
import struct
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import tenseal
import tenseal.sealapi as sealapi
from numpy.typing import NDArray

from ostraka.common.crypto.ckks.memory import content_of, memory_file
from ostraka.common.crypto.ckks.parameters import CkksParameters
from ostraka.common.crypto.ckks.wire import Residues
from ostraka.common.errors import ErrorCode, OstrakaError

TENSEAL_VERSION = "0.3.18"
"""The version whose files this module writes and reads."""


def require_version(installed: str) -> None:
    """Raise `config.invalid` for any TenSEAL except the version that this module supports."""
    if installed != TENSEAL_VERSION:
        raise OstrakaError(
            ErrorCode.CONFIG_INVALID,
            f"Heads with squares need TenSEAL {TENSEAL_VERSION}, and {installed} is installed: "
            f"pip install tenseal=={TENSEAL_VERSION}, or use linear heads, which need none.",
        )


require_version(tenseal.__version__)

SEAL_ERRORS = (RuntimeError, ValueError, IndexError)
"""Python exceptions for SEAL's C++ exceptions."""

_HEADER = struct.Struct("<HBBBBHQ")
"""SEAL's header of a file: magic, its own size, version (2), compression, reserved, size of the file."""
_UNCOMPRESSED = 0
"""SEAL's `compr_mode_type.none`: masked values are uniform, so compression cannot make them smaller."""
_NTT_FLAG = 32
"""Offset at which a ciphertext says that it is in NTT form, after the name of its level."""


class SealContext:
    """SEAL's objects for one set of parameters."""

    def __init__(self, parameters: CkksParameters) -> None:
        """Build the tables; raise `crypto.refused` for parameters that are not 128-bit secure.

        Security is SEAL's own check, after the Homomorphic Encryption Standard (2018) for ternary keys.
        """
        chosen = sealapi.EncryptionParameters(sealapi.SCHEME_TYPE.CKKS)
        chosen.set_poly_modulus_degree(parameters.degree)
        chosen.set_coeff_modulus(sealapi.CoeffModulus.Create(parameters.degree, list(parameters.prime_bits)))
        self.parameters = parameters
        self.context = sealapi.SEALContext(chosen, True, sealapi.SEC_LEVEL_TYPE.TC128)
        if not self.context.parameters_set():
            raise OstrakaError(
                ErrorCode.CRYPTO_REFUSED,
                "These encryption parameters are not 128-bit secure "
                f"({self.context.parameters_error_message()}); use those of"
                " ostraka.common.crypto.ckks.parameters.",
            )
        self.moduli = tuple(int(prime.value()) for prime in chosen.coeff_modulus())[:-1]
        self.evaluator = sealapi.Evaluator(self.context)
        self.encoder = sealapi.CKKSEncoder(self.context)
        self._levels = _levels(self.context)
        self._prefixes: dict[int, bytes] = {}

    def level(self, primes: int) -> Any:
        """Return SEAL's name of the level with this many primes."""
        return self._levels[primes]

    def encode(self, values: NDArray[Any], primes: int, scale: float) -> Any:
        """Encode one value, real or complex, per slot as a plaintext; SEAL's errors pass through."""
        plain = sealapi.Plaintext()
        self.encoder.encode(values.tolist(), self.level(primes), scale, plain)
        return plain

    def constant(self, value: float, primes: int) -> Any:
        """Return a plaintext of a whole number in every slot, at scale 1."""
        plain = sealapi.Plaintext()
        self.encoder.encode(value, self.level(primes), 1.0, plain)
        return plain

    def polynomial(self, plain: Any) -> Residues:
        """Return the residues of a plaintext in NTT form, (primes, degree)."""
        return self._last_words(plain, plain.coeff_count()).reshape(-1, self.parameters.degree)

    def residues(self, ciphertext: Any) -> Residues:
        """Return the residues of a ciphertext, (2, primes, degree)."""
        shape = (ciphertext.size(), ciphertext.coeff_modulus_size(), self.parameters.degree)
        return self._last_words(ciphertext, math.prod(shape)).reshape(shape)

    def ciphertext(self, residues: Residues, scale: float) -> Any:
        """Return the ciphertext of residues (2, primes, degree), each below its prime."""
        content = self._prefix(residues.shape[1]) + residues.astype("<u8", copy=False).tobytes()
        header = _HEADER.pack(*self._version, _UNCOMPRESSED, 0, _HEADER.size + len(content))
        ciphertext = sealapi.Ciphertext(self.context)
        load(ciphertext, self.context, header + content)
        ciphertext.scale = scale
        return ciphertext

    def _last_words(self, item: Any, count: int) -> Residues:
        return np.frombuffer(_content(item)[-8 * count :], "<u8").astype(np.uint64, copy=False)

    @cached_property
    def _version(self) -> tuple[int, ...]:
        return _HEADER.unpack_from(save(sealapi.Plaintext()))[:4]

    def _prefix(self, primes: int) -> bytes:
        """Return what SEAL writes before the residues of a ciphertext in NTT form with this many primes."""
        if primes not in self._prefixes:
            template = sealapi.Ciphertext(self.context)
            template.resize(self.context, self.level(primes), 2)
            written = _content(template)[: -8 * 2 * primes * self.parameters.degree]
            self._prefixes[primes] = written[:_NTT_FLAG] + b"\x01" + written[_NTT_FLAG + 1 :]
        return self._prefixes[primes]


def save(item: Any) -> bytes:
    """Return what SEAL writes to a file for an item."""
    with memory_file() as (path, descriptor):
        item.save(path)
        return content_of(descriptor)


def load(item: Any, context: Any, content: bytes | memoryview) -> None:
    """Read what SEAL wrote into `item`; raise one of SEAL_ERRORS if incomplete or of another context."""
    if len(content) < _HEADER.size or _HEADER.unpack_from(content)[-1] != len(content):
        raise ValueError("another size than the header says")
    with memory_file(content) as (path, _):
        item.load(context, path)


def _content(item: Any) -> bytes:
    compressed = pa.BufferReader(save(item)[_HEADER.size :])
    return pa.CompressedInputStream(compressed, "zstd").read()  # type: ignore[no-any-return]


def _levels(context: Any) -> dict[int, Any]:
    levels = {}
    data = context.first_context_data()
    while data is not None:
        levels[data.chain_index() + 1] = data.parms_id()
        data = data.next_context_data()
    return levels
