"""The answering party's side of encrypted inference: heads evaluated on ciphertexts, and masked."""

import secrets
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import tenseal.sealapi as sealapi

from ostraka.common.crypto.ckks.affine import AffineMaps
from ostraka.common.crypto.ckks.masking import add_mask, draw_mask
from ostraka.common.crypto.ckks.parameters import LAYERS, CkksParameters
from ostraka.common.crypto.ckks.public import read_public
from ostraka.common.crypto.ckks.queries import EncryptedQueries
from ostraka.common.crypto.ckks.residues import UniformResidues
from ostraka.common.crypto.ckks.seal import SEAL_ERRORS, SealContext
from ostraka.common.crypto.ckks.wire import Residues, pack
from ostraka.common.crypto.heads import Affine, EncryptedHead
from ostraka.common.crypto.inference import MaskedLogits, check_heads, groups
from ostraka.common.crypto.stream import SEED_BYTES, Stream

_ROWS = 256
"""Values that the first layers of several heads give together at most, so that memory stays bounded."""


class CkksEvaluator:
    """Evaluates heads on queries encrypted under one querying party's keys."""

    def __init__(self, parameters: CkksParameters, public: bytes) -> None:
        """Read the public keys; raises `crypto.refused` or `message.invalid` as `public.read_public` does."""
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
        """Masked logits of each head in turn, for the first `instances` slots of the queries.

        The masks are what `seed` (32 bytes, fresh for every batch) stands for at the heads' places, of which
        `first` is that of the first. The encryptions of zero are fresh, so that ciphertexts are to be kept
        where the same bytes may be asked for again.

        Raises:
            OstrakaError: `message.invalid` for queries of another size or with values that are none,
                `crypto.refused` for queries under other parameters, `party.not_encrypted` for a weight that
                is too large.
            ValueError: for heads of another depth than the parameters say, or of differing inputs.
        """
        check_heads(heads, LAYERS)
        read = EncryptedQueries(self._seal, queries, heads[0].inputs)
        index = first
        for group in groups(heads, _ROWS):
            firsts = self._first_layers(group, read)
            for head in group:
                own, firsts = np.split(firsts, [head.layers[0].outputs])
                yield self._masked(self._evaluated(head, own), seed, index, instances)
                index += 1

    def _evaluated(self, head: EncryptedHead, firsts: Residues) -> list[Any]:
        """Return the logits of a head from its first layer's outputs, (outputs, 2, primes, degree).

        SEAL refuses results whose second half is zero. Keys that were never generated bring that about for
        some weights and not for others, so a refusal would tell of weights: the logits mean nothing instead.
        """
        try:
            ciphertexts = [self._rescaled(one, self._first_scale) for one in firsts]
            for layer in head.layers[1:]:
                ciphertexts = self._next_layer(layer, ciphertexts)
        except SEAL_ERRORS:
            return [self._nothing() for _ in range(head.outputs)]
        return ciphertexts

    def _nothing(self) -> Any:
        """Return a meaningless ciphertext whose second half is uniform."""
        seed, degree = secrets.token_bytes(SEED_BYTES), self.parameters.degree
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
        """Rescaled ciphertexts of an affine map of the squares."""
        squares = [self._square(ciphertext) for ciphertext in ciphertexts]
        residues = np.stack([self._seal.residues(square) for square in squares])
        primes = residues.shape[2]
        affine = AffineMaps(self.parameters, [layer], self._seal.moduli[:primes], squares[0].scale)
        applied = affine.apply(
            lambda prime: (residues[:, 0, prime], residues[:, 1, prime]), self._zero(primes)
        )
        return [self._rescaled(output, affine.output_scale) for output in applied]

    def _square(self, ciphertext: Any) -> Any:
        evaluator = self._seal.evaluator
        evaluator.square_inplace(ciphertext)
        evaluator.relinearize_inplace(ciphertext, self._relinearization)
        evaluator.rescale_to_next_inplace(ciphertext)
        return ciphertext

    def _rescaled(self, residues: Residues, scale: float) -> Any:
        ciphertext = self._seal.ciphertext(residues, scale)
        self._seal.evaluator.rescale_to_next_inplace(ciphertext)
        ciphertext.scale = self.parameters.scale
        return ciphertext

    def _zero(self, primes: int) -> Residues:
        zero = sealapi.Ciphertext(self._seal.context)
        self._encryptor.encrypt_zero(self._seal.level(primes), zero)
        return self._seal.residues(zero)

    def _masked(self, ciphertexts: list[Any], seed: bytes, head: int, instances: int) -> MaskedLogits:
        stream = Stream(seed, f"ckks masks {head}")
        packed, shares = [], []
        for ciphertext in ciphertexts:
            mask = draw_mask(self.parameters, stream)
            try:
                masked = add_mask(self._seal, self._encryptor, ciphertext, mask)
            except SEAL_ERRORS:
                masked = add_mask(self._seal, self._encryptor, self._nothing(), mask)
            packed.append(pack(self.parameters, self._seal.residues(masked)))
            shares.append(mask.share()[:instances])
        return MaskedLogits(b"".join(packed), np.stack(shares))
