"""The scheme of heads with squares: the querying party's keys, the answering party's evaluation.

A weight is the same number in every slot, and so in every value of the NTT form. An affine map of encrypted
features is therefore the plain matrix product of rounded weights with the features' residues.
"""

import secrets
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import scipy.sparse
import tenseal.sealapi as sealapi
from numpy.typing import NDArray

from ostraka.common.crypto.ckks.masking import add_mask, draw_mask, logit_share
from ostraka.common.crypto.ckks.messages import EncryptedQueries, read_public, second_halves, write_public
from ostraka.common.crypto.ckks.parameters import LAYERS, SQUARES, CkksParameters
from ostraka.common.crypto.ckks.residues import UniformResidues, product
from ostraka.common.crypto.ckks.seal import SEAL_ERRORS, SealContext
from ostraka.common.crypto.ckks.wire import (
    Residues,
    ciphertexts,
    logits_bytes,
    most_public_bytes,
    pack,
    queries_bytes,
    unpack,
)
from ostraka.common.crypto.heads import WEIGHT_BITS, Affine, EncryptedHead, check_weights
from ostraka.common.crypto.inference import MaskedLogits, check_heads, check_queries, groups
from ostraka.common.crypto.stream import SEED_BYTES, Stream


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
        """Return fresh ciphertexts of queries (queries, features), one a feature, `wire.queries_bytes` long.

        Raises `data.shape` or `data.nan` as `check_queries`.
        """
        values = check_queries(X)
        seed = self._random(SEED_BYTES)
        uniform = second_halves(self._seal, seed)
        halves = [self._first_half(column, uniform) for column in values.T]
        return b"".join([self.parameters.digest, seed, *halves])

    def reply_bytes(self, outputs: int, instances: int) -> int:
        """Return the number of bytes of a batch's encrypted logits; it does not depend on its queries."""
        return logits_bytes(self.parameters, outputs)

    def decrypt(self, data: bytes, instances: int) -> NDArray[np.uint64]:
        """Return shares of logits (outputs, instances) modulo 2^LOGIT_BITS, for as many outputs as were sent.

        They are the decryption of `data` in the first slots, in steps of 2^-LOGIT_FRACTION. Nothing that
        depends on them may be revealed to the party that sent it.

        Raises:
            OstrakaError: `message.invalid` for bytes that are not complete ciphertexts.
        """
        outputs = max(len(data) // logits_bytes(self.parameters, 1), 1)
        packed = ciphertexts(self.parameters, data, (outputs, 2), self.parameters.result_primes)
        return np.stack([logit_share(self._values(halves)[:instances]) for halves in packed])

    def _values(self, packed: NDArray[np.uint8]) -> NDArray[np.float64]:
        """Return the decryption of a packed ciphertext, real parts, (slots,)."""
        halves = [
            unpack(self.parameters, packed, prime, self._seal.moduli[prime])
            for prime in range(self.parameters.result_primes)
        ]
        ciphertext = self._seal.ciphertext(np.stack(halves, axis=1), self.parameters.scale)
        return np.array(self._seal.encoder.decode_double(self._decrypt(ciphertext)))

    def _first_half(self, values: NDArray[np.float64], uniform: tuple[UniformResidues, ...]) -> bytes:
        """Make the first half of a ciphertext of `values` whose second half is the next uniform polynomial u.

        It decrypts to first + u s = values + noise. SEAL chooses second halves itself. So values are
        encrypted by SEAL and (0, u) is subtracted: the rest decrypts to values + noise - u s.
        """
        plain = self._seal.encode(values, self.parameters.primes, self.parameters.scale)
        ciphertext = sealapi.Ciphertext(self._seal.context)
        self._encryptor.encrypt_symmetric(plain, ciphertext)
        second = np.stack([prime.polynomial() for prime in uniform])
        offset = self._seal.ciphertext(np.stack([np.zeros_like(second), second]), self.parameters.scale)
        self._seal.evaluator.sub_inplace(ciphertext, offset)
        return pack(self.parameters, self._seal.polynomial(self._decrypt(ciphertext)))

    def _decrypt(self, ciphertext: Any) -> Any:
        plain = sealapi.Plaintext()
        self._decryptor.decrypt(ciphertext, plain)
        return plain


class AffineMaps:
    """Affine maps of the same inputs, stacked, as whole numbers for one level.

    Inputs have a scale s. Outputs have the scale of the parameters times the last prime of the level, by
    which the caller rescales. Weights are rounded to multiples of s / (that product), as exact as the scale
    itself.
    """

    def __init__(
        self, parameters: CkksParameters, maps: Sequence[Affine], moduli: tuple[int, ...], scale: float
    ) -> None:
        """Round the weights; raise `party.not_encrypted` if one is beyond +-2^WEIGHT_BITS.

        Args:
            parameters: the number of values in polynomials, and the scale of outputs.
            maps: maps with the same number of inputs.
            moduli: the primes of the level.
            scale: the scale of the inputs.
        """
        self.parameters = parameters
        self.moduli = moduli
        self.output_scale = parameters.scale * moduli[-1]
        self._bits = parameters.scale_bits + WEIGHT_BITS + 1
        check_weights(maps)
        unit = self.output_scale / scale
        weights = scipy.sparse.vstack([layer.weights for layer in maps]).toarray()
        bias = np.concatenate([layer.bias for layer in maps])
        self._weights = np.rint(weights * unit).astype(np.int64)
        self._bias = [round(value * unit) * round(scale) for value in bias.tolist()]

    def apply(self, inputs: Callable[[int], tuple[Residues, Residues]], zero: Residues) -> Residues:
        """Return ciphertexts of the outputs, (outputs, 2, primes, degree), not rescaled yet.

        Args:
            inputs: both halves of all ciphertexts modulo one prime, (inputs, degree) each, by the prime's
                index.
            zero: an encryption of zero, (2, primes, degree), added once to every output, so that an output
                with only zero weights is a ciphertext too.
        """
        shape = (len(self._bias), 2, len(self.moduli), self.parameters.degree)
        outputs = np.empty(shape, np.uint64)
        for prime, modulus in enumerate(self.moduli):
            for part, residues in enumerate(inputs(prime)):
                summed = product(self._weights, self._bits, residues, modulus) + zero[part, prime]
                outputs[:, part, prime] = summed % np.uint64(modulus)
            outputs[:, 0, prime] = (outputs[:, 0, prime] + self._biases(modulus)) % np.uint64(modulus)
        return outputs

    def _biases(self, modulus: int) -> NDArray[np.uint64]:
        """Return the biases, one value each: a constant has the same value everywhere in NTT form."""
        return np.array([bias % modulus for bias in self._bias], np.uint64)[:, None]


_ROWS = 256
"""Maximum number of values from the first layers of several heads together, which bounds the memory."""


class CkksEvaluator:
    """Evaluates heads on queries encrypted under one querying party's keys."""

    def __init__(self, parameters: CkksParameters, public: bytes) -> None:
        """Read the public keys; raise `crypto.refused` or `message.invalid` as `public.read_public`."""
        self.parameters = parameters
        self._seal = SealContext(parameters)
        key, self._relinearization = read_public(self._seal, public)
        self._encryptor = sealapi.Encryptor(self._seal.context, key)

    def logits(
        self,
        heads: Sequence[EncryptedHead],
        queries: bytes | memoryview,
        seed: bytes,
        instances: int,
        *,
        first: int = 0,
    ) -> Iterator[MaskedLogits]:
        """Yield masked logits of each head in turn, for the first `instances` slots of the queries.

        The masks are derived from `seed` (32 bytes, fresh for every batch) and the index of each head;
        `first` is the index of the first head. The encryptions of zero are fresh, so ciphertexts must be
        stored if the same bytes may be asked for again.

        Raises:
            OstrakaError: `message.invalid` for queries of another size or with invalid values,
                `crypto.refused` for queries under other parameters, `party.not_encrypted` for a weight that
                is too large.
            ValueError: for heads of another depth than in the parameters, or with different inputs.
        """
        check_heads(heads, LAYERS)
        read = EncryptedQueries(self._seal, queries, heads[0].inputs)
        index = first
        for group in groups(heads, _ROWS):
            firsts = self._first_layers(group, read)
            for head in group:
                own, firsts = np.split(firsts, [head.layers[0].outputs])
                yield self._mask(self._logits_of(head, own), seed, index, instances)
                index += 1

    def _logits_of(self, head: EncryptedHead, firsts: Residues) -> list[Any]:
        """Return the logits of a head from its first layer's outputs, (outputs, 2, primes, degree).

        SEAL refuses results whose second half is zero. Keys that were not generated honestly can cause that
        for some weights but not for others, so a refusal would reveal weights. The logits are meaningless
        instead.
        """
        try:
            ciphertexts = [self._rescale(one, self._first_scale) for one in firsts]
            for layer in head.layers[1:]:
                ciphertexts = self._next_layer(layer, ciphertexts)
        except SEAL_ERRORS:
            return [self._nothing() for _ in range(head.outputs)]
        return ciphertexts

    def _nothing(self) -> Any:
        """Return a meaningless ciphertext whose second half is uniform."""
        seed = secrets.token_bytes(SEED_BYTES)
        degree = self.parameters.degree
        moduli = enumerate(self._seal.moduli[: self.parameters.result_primes])
        second = [UniformResidues(seed, f"prime {prime}", modulus, degree) for prime, modulus in moduli]
        residues = np.stack([one.polynomial() for one in second])
        return self._seal.ciphertext(np.stack([residues * np.uint64(0), residues]), self.parameters.scale)

    def _first_layers(self, heads: Sequence[EncryptedHead], queries: EncryptedQueries) -> Residues:
        """Compute the outputs of all heads' first layers, (outputs, 2, primes, degree), at `_first_scale`."""
        maps = [head.layers[0] for head in heads]
        affine = AffineMaps(self.parameters, maps, self._seal.moduli, self.parameters.scale)
        return affine.apply(queries.halves, self._zero(self.parameters.primes))

    @property
    def _first_scale(self) -> float:
        return self.parameters.scale * self._seal.moduli[-1]

    def _next_layer(self, layer: Affine, ciphertexts: list[Any]) -> list[Any]:
        """Return rescaled ciphertexts of an affine map of the squares."""
        squares = [self._square(ciphertext) for ciphertext in ciphertexts]
        residues = np.stack([self._seal.residues(square) for square in squares])
        primes = residues.shape[2]
        affine = AffineMaps(self.parameters, [layer], self._seal.moduli[:primes], squares[0].scale)
        applied = affine.apply(
            lambda prime: (residues[:, 0, prime], residues[:, 1, prime]), self._zero(primes)
        )
        return [self._rescale(output, affine.output_scale) for output in applied]

    def _square(self, ciphertext: Any) -> Any:
        evaluator = self._seal.evaluator
        evaluator.square_inplace(ciphertext)
        evaluator.relinearize_inplace(ciphertext, self._relinearization)
        evaluator.rescale_to_next_inplace(ciphertext)
        return ciphertext

    def _rescale(self, residues: Residues, scale: float) -> Any:
        ciphertext = self._seal.ciphertext(residues, scale)
        self._seal.evaluator.rescale_to_next_inplace(ciphertext)
        ciphertext.scale = self.parameters.scale
        return ciphertext

    def _zero(self, primes: int) -> Residues:
        zero = sealapi.Ciphertext(self._seal.context)
        self._encryptor.encrypt_zero(self._seal.level(primes), zero)
        return self._seal.residues(zero)

    def _mask(self, ciphertexts: list[Any], seed: bytes, head: int, instances: int) -> MaskedLogits:
        stream = Stream(seed, f"ckks masks {head}")
        packed = []
        shares = []
        for ciphertext in ciphertexts:
            mask = draw_mask(self.parameters, stream)
            try:
                masked = add_mask(self._seal, self._encryptor, ciphertext, mask)
            except SEAL_ERRORS:
                masked = add_mask(self._seal, self._encryptor, self._nothing(), mask)
            packed.append(pack(self.parameters, self._seal.residues(masked)))
            shares.append(mask.share()[:instances])
        return MaskedLogits(b"".join(packed), np.stack(shares))


class CkksScheme:
    """Queries in slots, with masks that hide only honest queries (`inference.Scheme`)."""

    def keys(self) -> CkksKeys:
        """Return fresh keys (a tenth of a second)."""
        return CkksKeys()

    def evaluator(self, public: bytes, context: bytes) -> CkksEvaluator:
        """Return an evaluator for a party's keys; may raise `crypto.refused` or `message.invalid`."""
        return CkksEvaluator(SQUARES, public)

    def queries_bytes(self, inputs: int, instances: int) -> int:
        """Return the number of bytes of a batch of encrypted queries; it does not depend on their number."""
        return queries_bytes(SQUARES, inputs)

    def most_public_bytes(self) -> int:
        """Return the maximum number of bytes of the public keys."""
        return most_public_bytes(SQUARES)

    def logits_bytes(self, outputs: int, instances: int) -> int:
        """Return the number of bytes of the encrypted logits of one head for a batch."""
        return logits_bytes(SQUARES, outputs)
