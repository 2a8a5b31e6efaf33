"""Moments: sums of products of mapped records with their labels and with themselves."""

from typing import ClassVar, Literal

from pydantic import Field

from ostraka.common.mechanism.mechanism import Positive
from ostraka.common.mechanism.record_sums import Block, Count, RecordSums
from ostraka.common.sums.sensitivity import MOVED_CODES, MOVED_GRAM

SIGMA = "Noise of each value, where a record's part has norm 1."


class Moments(RecordSums):
    """Release the sum of x code(y)' over records x of norm 1, and, if wanted, the sum of x x'.

    Attributes:
        columns: number of values of a mapped record, d.
        codes: number of values of a code, k.
        sigma: noise of each of the d k values, for codes of norm 1.
        gram_sigma: noise of x x' on its diagonal, and 1/sqrt 2 times as much beside it; None: it is not
            released.
    """

    gaussian: ClassVar[bool] = True
    charged_as: ClassVar[str] = "one Gaussian sum, and one more for the Gram matrix"

    kind: Literal["moments"] = "moments"
    columns: Count = Field(description="Values of a mapped record.")
    codes: Count = Field(description="Values of a label's code.")
    sigma: Positive = Field(description=SIGMA)
    gram_sigma: Positive | None = Field(default=None, description="Noise of the Gram matrix.")

    @property
    def blocks(self) -> tuple[Block, ...]:
        """As in `RecordSums.blocks`: codes, then the packed Gram matrix."""
        return moment_blocks(self.columns, self.codes, self.sigma, self.gram_sigma)

    @property
    def released(self) -> str:
        """As in `Mechanism.released`."""
        return moments_words(self.columns, self.codes, self.gram_sigma)


def moment_blocks(columns: int, codes: int, sigma: float, gram_sigma: float | None) -> tuple[Block, ...]:
    """Return the blocks of moments; the parameters are those of `Moments`."""
    moments = Block(columns * codes, MOVED_CODES, sigma)
    if gram_sigma is None:
        return (moments,)
    return (moments, Block(columns * (columns + 1) // 2, MOVED_GRAM, gram_sigma))


def moments_words(columns: int, codes: int, gram_sigma: float | None) -> str:
    """Return what moments release, as in `Mechanism.released`."""
    gram = "" if gram_sigma is None else f" and {columns} x {columns}"
    return f"sum of {columns} x {codes}{gram} values for a model"
