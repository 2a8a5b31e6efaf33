"""Rows whose counts are within a norm are accepted, and no others."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from ostraka.common.sharing.prime_field import PrimeField
from ostraka.common.sharing.statement import Norm, Statement
from ostraka.common.verified import querier, verifier
from ostraka.common.verified.layout import layout_of
from ostraka.common.verified.writing import Digit, write
from tests.common.verified.ballots import Ballot

ROWS, CELLS = 6, 4
FIELDS = pytest.mark.parametrize("field", [PrimeField(31), PrimeField(61)], ids=["31", "61"])
POWERS = pytest.mark.parametrize("power", [1, 2], ids=["L1", "L2"])
Power = Literal[1, 2]


class Clipped(Ballot):
    """Ballots of equal rows, of which a party alters some digits of the row in the middle."""

    def __init__(self, field: PrimeField, counts: list[int], norm: Norm, most: int = 50) -> None:
        self.layout = layout_of(Statement(ROWS, CELLS, most, None, norm), field)
        super().__init__([self.layout], [np.tile(counts, (ROWS, 1))])

    def alter(self, counts: Mapping[tuple[int, int], int], norms: Mapping[int, int]) -> bool:
        """Add to digits of counts, by place and cell, and of the norm, by place; tell if it is accepted."""
        writing, row = self.layout.writing, 2
        change = np.zeros(writing.size, np.int64)
        for (place, cell), by in counts.items():
            change[(place * CELLS + cell) * ROWS + row] = by
        for place, by in norms.items():
            change[writing.counts.size + place * ROWS + row] = by
        self.prover.alter(change)
        return self.accepted()

    def norm_digits(self, value: int) -> dict[int, int]:
        """Return by how much each digit of a value differs from those of the norm, within tops if it can."""
        norms, norm = self.layout.writing.norms, self.layout.statement.norm
        assert norms is not None
        assert norm is not None
        own = norm.of(self.counts[0][:1])
        change = written(norms.digits, value) - written(norms.digits, own[0])
        return dict(enumerate(change.tolist()))


def written(digits: tuple[Digit, ...], value: int) -> NDArray[np.int64]:
    """Return digits of a value; what no digits hold is in the lowest."""
    held = min(max(value, 0), sum(digit.weight * digit.top for digit in digits))
    found = write(np.array([held]), digits)[:, 0].astype(np.int64)
    found[0] += value - held
    return found


@FIELDS
@settings(max_examples=15)
@given(
    rows=st.integers(1, 9),
    cells=st.integers(1, 6),
    most=st.integers(1, 400),
    power=st.sampled_from([1, 2]),
    share=st.floats(0, 1),
)
def test_rows_within_their_norm_are_accepted_and_shares_add_up(
    field: PrimeField, rows: int, cells: int, most: int, power: Power, share: float
) -> None:
    norm = Norm(power, 1 + int(share * cells * most**power))
    counts = np.random.default_rng(0).integers(0, most + 1, (rows, cells))
    counts *= (norm.of(counts) <= norm.most)[:, None]
    made = Ballot([layout_of(Statement(rows, cells, most, None, norm), field)], [counts])
    assert made.accepted()
    mine = querier.count_shares(made.layouts, made.context, made.seed)[0]
    theirs = verifier.count_shares(made.layouts, made.submission)[0]
    assert np.array_equal(field.lift(field.add(mine, theirs)), counts)


@FIELDS
@POWERS
@pytest.mark.parametrize("counts", [[0, 0, 0, 0], [50, 0, 0, 0], [50, 50, 0, 0], [50, 20, 10, 10]], ids=str)
def test_a_row_may_reach_its_norm_and_not_exceed_it_by_a_step(
    field: PrimeField, counts: list[int], power: Power
) -> None:
    """Every count is in range. The party writes the true norm, or the largest that it may."""
    largest = max(1, sum(count**power for count in counts))
    assert Clipped(field, counts, Norm(power, largest)).accepted()
    by = 2 if not any(counts) else 1
    beyond = sum(count**power for count in counts[:3]) + (counts[3] + by) ** power
    assert beyond > largest
    for said in (beyond, largest):
        made = Clipped(field, counts, Norm(power, largest))
        assert not made.alter({(0, 3): by}, made.norm_digits(said))


@FIELDS
@POWERS
@pytest.mark.parametrize("said", [0, 1, -1, 99, 101, 5000])
def test_a_norm_that_is_not_the_rows_is_refused(field: PrimeField, power: Power, said: int) -> None:
    made = Clipped(field, [10 ** (3 - power), 0, 0, 0], Norm(power, 5000), most=100)
    assert made.layout.statement.norm is not None
    assert made.layout.statement.norm.of(made.counts[0]).tolist() == [100] * ROWS
    assert not made.alter({}, made.norm_digits(said))


@FIELDS
@POWERS
def test_the_same_norm_may_be_written_by_no_digit_beyond_its_top(field: PrimeField, power: Power) -> None:
    made = Clipped(field, [10 ** (3 - power), 0, 0, 0], Norm(power, 5000), most=100)
    assert made.layout.writing.norms is not None
    low, high, *_ = made.layout.writing.norms.digits
    assert not made.alter({}, {0: high.weight * (low.top + 1), 1: -low.weight * (low.top + 1)})


@FIELDS
@POWERS
@pytest.mark.parametrize("count", [51, 70, -1, -50])
def test_a_count_out_of_range_is_refused_though_the_norm_is_right(
    field: PrimeField, power: Power, count: int
) -> None:
    norm = Norm(power, 10_000)
    made = Clipped(field, [0, 3, 0, 0], norm)
    assert not made.alter({(0, 0): count}, made.norm_digits(count**power + 3**power))


def test_norms_of_nothing_are_refused() -> None:
    with pytest.raises(ValueError, match="norm"):
        Norm(2, 0)


@POWERS
def test_rows_beyond_their_norm_are_not_proved(power: Power) -> None:
    with pytest.raises(ValueError, match="norm"):
        Clipped(PrimeField(31), [50, 50, 0, 1], Norm(power, 2 * 50**power))
