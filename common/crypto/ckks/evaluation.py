"""The answering party's side of encrypted inference: heads evaluated on ciphertexts, and masked."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import tenseal.sealapi as sealapi
from numpy.typing import NDArray

from common.crypto.ckks.affine import AffineMaps
from common.crypto.ckks.heads import Affine, EncryptedHead
from common.crypto.ckks.masking import add_mask, draw_mask
from common.crypto.ckks.parameters import Parameters
from common.crypto.ckks.public import read_public
from common.crypto.ckks.queries import EncryptedQueries
from common.crypto.ckks.seal import SEAL_ERRORS, Seal
from common.crypto.ckks.wire import Residues, pack
from common.crypto.stream import Stream
from common.errors import ErrorCode, OstrakaError

_ROWS = 256
"""Values that the first layers of several heads give together at most, so that memory stays bounded."""


@dataclass(frozen=True)
class MaskedLogits:
    """What leaves for one head, and what stays.

    Attributes:
        ciphertexts: `wire.logits_bytes` bytes for the querying party.
        shares: this party's shares of the logits, (outputs, instances), modulo 2^LOGIT_BITS, in steps of
            2^-LOGIT_FRACTION: added to what the other party decrypts they give the logits.
    """

    ciphertexts: bytes = field(repr=False)
    shares: NDArray[np.uint64] = field(repr=False)


class Evaluator:
    """Evaluates heads on queries encrypted under one querying party's keys."""

    def __init__(self, parameters: Parameters, public: bytes) -> None:
        """Read the public keys; raises `crypto.refused` or `message.invalid` as `public.read_public` does."""
        self.parameters = parameters
        self._seal = Seal(parameters)
        key, self._relinearization = read_public(self._seal, public)
        self._encryptor = sealapi.Encryptor(self._seal.context, key)

    def logits(
        self, heads: Sequence[EncryptedHead], queries: bytes, seed: bytes, instances: int
    ) -> Iterator[MaskedLogits]:
        """Masked logits of each head in turn, for the first `instances` slots of the queries.

        The masks are what `seed` (32 bytes, fresh for every batch) stands for. The encryptions of zero are
        fresh, so that ciphertexts are to be kept where the same bytes may be asked for again.

        Raises:
            OstrakaError: `message.invalid` for queries of another size or with values that are none,
                `crypto.refused` for queries under other parameters, `party.not_encrypted` for a weight that
                is too large.
            ValueError: for heads of another depth than the parameters say, or of differing inputs.
        """
        _check(self.parameters, heads)
        read = EncryptedQueries(self._seal, queries, heads[0].inputs)
        index = 0
        for group in _groups(heads):
            try:
                firsts = self._first_layers(group, read)
                for head in group:
                    ciphertexts = [next(firsts) for _ in range(head.layers[0].outputs)]
                    for layer in head.layers[1:]:
                        ciphertexts = self._next_layer(layer, ciphertexts)
                    yield self._masked(ciphertexts, seed, index, instances)
                    index += 1
            except SEAL_ERRORS as exc:
                raise OstrakaError(
                    ErrorCode.CRYPTO_REFUSED,
                    "These queries cannot be evaluated: keys and ciphertexts do not belong together; encrypt "
                    "the batch again.",
                ) from exc

    def _first_layers(self, heads: Sequence[EncryptedHead], queries: EncryptedQueries) -> Iterator[Any]:
        """Rescaled ciphertexts of the outputs of all heads' first layers, head by head."""
        maps = [head.layers[0] for head in heads]
        affine = AffineMaps(self.parameters, maps, self._seal.moduli, self.parameters.scale)
        applied = affine.apply(queries.halves, self._zero(self.parameters.primes))
        return (self._rescaled(residues, affine.output_scale) for residues in applied)

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
            masked = add_mask(self._seal, self._encryptor, ciphertext, mask)
            packed.append(pack(self.parameters, self._seal.residues(masked)))
            shares.append(mask.share()[:instances])
        return MaskedLogits(b"".join(packed), np.stack(shares))


def _check(parameters: Parameters, heads: Sequence[EncryptedHead]) -> None:
    if any(len(head.layers) != parameters.layers for head in heads):
        raise ValueError(f"these parameters are for heads of {parameters.layers} layers")
    if len({head.inputs for head in heads}) != 1:
        raise ValueError("heads that are evaluated together take the same features")


def _groups(heads: Sequence[EncryptedHead]) -> Iterator[list[EncryptedHead]]:
    """Heads in their order, as many at once as _ROWS allows, at least one."""
    group: list[EncryptedHead] = []
    for head in heads:
        rows = sum(member.layers[0].outputs for member in group)
        if group and rows + head.layers[0].outputs > _ROWS:
            yield group
            group = []
        group.append(head)
    yield group
