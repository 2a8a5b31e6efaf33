"""The querying party's side of encrypted inference: keys, encrypted queries, decrypted shares of logits."""

import secrets
from collections.abc import Callable
from typing import Any

import numpy as np
import tenseal.sealapi as sealapi
from numpy.typing import NDArray

from ostraka.common.crypto.ckks.masking import logit_share
from ostraka.common.crypto.ckks.parameters import SQUARES, CkksParameters
from ostraka.common.crypto.ckks.public import write_public
from ostraka.common.crypto.ckks.queries import second_halves
from ostraka.common.crypto.ckks.residues import UniformResidues
from ostraka.common.crypto.ckks.seal import SealContext
from ostraka.common.crypto.ckks.wire import ciphertexts, logits_bytes, pack, unpack
from ostraka.common.crypto.inference import checked_queries
from ostraka.common.crypto.stream import SEED_BYTES


class CkksKeys:
    """A key pair for one set of parameters, drawn from the operating system; the secret key never leaves."""

    def __init__(
        self, parameters: CkksParameters = SQUARES, random: Callable[[int], bytes] = secrets.token_bytes
    ) -> None:
        """Draw the keys (a tenth of a second). `random` gives the public seeds of ciphertexts."""
        self.parameters = parameters
        self._random = random
        self._seal = SealContext(parameters)
        generator = sealapi.KeyGenerator(self._seal.context)
        secret = generator.secret_key()
        self._public = write_public(self._seal, generator)
        self._encryptor = sealapi.Encryptor(self._seal.context, secret)
        self._decryptor = sealapi.Decryptor(self._seal.context, secret)

    def public(self, context: bytes) -> bytes:
        """Return what parties need to evaluate and to encrypt zeros; the same bytes for every context."""
        return self._public

    def encrypt(self, X: NDArray[np.floating[Any]]) -> bytes:
        """Fresh ciphertexts of queries (queries, features), one for each feature, `wire.queries_bytes` long.

        Raises `data.shape` or `data.nan` as `checked_queries` does.
        """
        values = checked_queries(X)
        seed = self._random(SEED_BYTES)
        uniform = second_halves(self._seal, seed)
        halves = [self._first_half(column, uniform) for column in values.T]
        return b"".join([self.parameters.digest, seed, *halves])

    def reply_bytes(self, outputs: int) -> int:
        """Bytes of the encrypted logits of a batch, however many queries it has."""
        return logits_bytes(self.parameters, outputs)

    def decrypt(self, data: bytes, instances: int) -> NDArray[np.uint64]:
        """Shares of logits (outputs, instances) modulo 2^LOGIT_BITS, for as many outputs as were sent.

        They are what `data` decrypts to in the first slots, in steps of 2^-LOGIT_FRACTION; nothing that
        depends on them may be told to the party that sent it.

        Raises:
            OstrakaError: `message.invalid` for bytes that are no whole ciphertexts.
        """
        outputs = max(len(data) // self.reply_bytes(1), 1)
        packed = ciphertexts(self.parameters, data, (outputs, 2), self.parameters.result_primes)
        return np.stack([logit_share(self._values(halves)[:instances]) for halves in packed])

    def _values(self, packed: NDArray[np.uint8]) -> NDArray[np.float64]:
        """Return what a packed ciphertext decrypts to, real parts, (slots,)."""
        halves = [
            unpack(self.parameters, packed, prime, self._seal.moduli[prime])
            for prime in range(self.parameters.result_primes)
        ]
        ciphertext = self._seal.ciphertext(np.stack(halves, axis=1), self.parameters.scale)
        return np.array(self._seal.encoder.decode_double(self._decrypted(ciphertext)))

    def _first_half(self, values: NDArray[np.float64], uniform: tuple[UniformResidues, ...]) -> bytes:
        """Make the first half of a ciphertext of `values` whose second half is the next uniform polynomial u.

        It decrypts to first + u s = values + noise. SEAL chooses second halves itself, so that values are
        encrypted as SEAL does and (0, u) is taken off: what is left decrypts to values + noise - u s.
        """
        plain = self._seal.encode(values, self.parameters.primes, self.parameters.scale)
        ciphertext = sealapi.Ciphertext(self._seal.context)
        self._encryptor.encrypt_symmetric(plain, ciphertext)
        second = np.stack([prime.polynomial() for prime in uniform])
        offset = self._seal.ciphertext(np.stack([np.zeros_like(second), second]), self.parameters.scale)
        self._seal.evaluator.sub_inplace(ciphertext, offset)
        return pack(self.parameters, self._seal.polynomial(self._decrypted(ciphertext)))

    def _decrypted(self, ciphertext: Any) -> Any:
        plain = sealapi.Plaintext()
        self._decryptor.decrypt(ciphertext, plain)
        return plain
