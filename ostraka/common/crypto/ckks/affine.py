"""Affine maps of ciphertexts: matrix products of whole numbers with residues, prime by prime.

A weight is the same number in every slot, and so in every value of the NTT form: an affine map of encrypted
features is the plain matrix product of rounded weights with the features' residues.
"""

from collections.abc import Callable, Sequence

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from ostraka.common.crypto.ckks.parameters import CkksParameters
from ostraka.common.crypto.ckks.residues import product
from ostraka.common.crypto.ckks.wire import Residues
from ostraka.common.crypto.heads import WEIGHT_BITS, Affine, check_weights


class AffineMaps:
    """Affine maps of the same inputs, stacked, as whole numbers for one level.

    Inputs have a scale s, outputs the scale of the parameters times the last prime of the level, by which the
    caller rescales: weights are rounded to multiples of s / (that product), as exact as the scale itself.
    """

    def __init__(
        self, parameters: CkksParameters, maps: Sequence[Affine], moduli: tuple[int, ...], scale: float
    ) -> None:
        """Round the weights; raises `party.not_encrypted` where one is beyond +-2^WEIGHT_BITS.

        Args:
            parameters: say how many polynomials' values there are, and the scale of outputs.
            maps: of the same number of inputs.
            moduli: the primes of the level.
            scale: of the inputs.
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
        """Ciphertexts of the outputs, (outputs, 2, primes, degree), not yet rescaled.

        Args:
            inputs: both halves of all ciphertexts modulo one prime, (inputs, degree) each, by its place.
            zero: an encryption of zero, (2, primes, degree), added once to every output, so that one whose
                weights are all zero is a ciphertext too.
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
