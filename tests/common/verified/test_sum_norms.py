"""Sums over records within the norm that their records allow are accepted, and no others."""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import nullcontext

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from ostraka.common.errors import OstrakaError
from ostraka.common.mechanism.record_sums import Block
from ostraka.common.plan.plan import Plan
from ostraka.common.sharing.ballots import VOTE
from ostraka.common.sharing.prime_field import PrimeField
from ostraka.common.sharing.statement import SIGNED_BASE, Norm, Statement, reach_of_digits
from ostraka.common.verified import querier, verifier
from ostraka.common.verified.layout import layout_of
from ostraka.common.verified.parts import check_parts
from ostraka.common.verified.sum_parts import SumPart, claim_norm, largest_norm, sum_parts
from ostraka.protos.ostraka.v1 import common_pb2
from tests.common.mechanism.test_record_sums import FIELDS
from tests.common.verified.ballots import Ballot

FIELD = PrimeField(61)
Values = NDArray[np.int64]


def claim(values: int, norm: int) -> Statement:
    found = claim_norm(values, norm, FIELD)
    assert found is not None
    return found


def part_of(statement: Statement, values: int) -> SumPart:
    return SumPart(slice(0, values), layout_of(statement, FIELD))


class Sum(Ballot):
    """A party's sum of some values, in steps, which it may say is another."""

    def __init__(self, statement: Statement, steps: Sequence[int] | Values) -> None:
        self.statement = statement
        self.part = part_of(statement, len(steps))
        super().__init__([self.part.layout], [self.counts_of(steps)])

    def counts_of(self, steps: Sequence[int] | Values) -> Values:
        return self.part.counts(np.array(steps, np.float64)[None] / VOTE)

    def pretend(self, steps: Sequence[int] | Values, norm: int | None = None) -> bool:
        """Share other values, with the digits that they have, and tell if they are accepted.

        Norms are written truly, or as if all rows together came to `norm`.
        """
        writing = self.part.layout.writing
        change = writing.write(self.counts_of(steps)) - self.prover._digits[0]
        if norm is not None:
            assert writing.norm_sum is not None
            change[-writing.norm_sum.size :] = 0
            written = writing.norm_sum.write(np.array([norm]))
            change[-writing.norm_sum.size :] = written - self.prover._digits[0][-writing.norm_sum.size :]
        self.prover.alter(change)
        return self.accepted()


def unit_vector(random: np.random.Generator, values: int) -> NDArray[np.float64]:
    drawn = random.normal(size=values)
    return np.asarray(drawn / np.linalg.norm(drawn))


@settings(max_examples=8, deadline=None)
@given(
    values=st.integers(1, 60),
    records=st.integers(1, 2**30),
    weight=st.integers(1, 4 * VOTE),
    seed=st.integers(0, 2**32 - 1),
    along=st.booleans(),
)
def test_whatever_records_allow_is_accepted_and_shares_add_up(
    values: int, records: int, weight: int, seed: int, along: bool
) -> None:
    """Records that are all alike, in one direction or along an axis, each a step longer by rounding."""
    random = np.random.default_rng(seed)
    direction = np.eye(1, values)[0] if along else unit_vector(random, values)
    allowed = largest_norm(
        Block(values, 2.0, 1.0), [common_pb2.Cohort(weight=weight, records=[records], groups=["all"])]
    )
    longest = records * weight + math.sqrt(values) / 2
    steps = np.rint(direction * longest).astype(np.int64)
    made = Sum(claim(values, allowed), steps)
    assert made.accepted()
    mine = querier.count_shares(made.layouts, made.context, made.seed)[0]
    theirs = verifier.count_shares(made.layouts, made.submission)[0]
    (read,) = FIELD.lift(made.part.ballots(FIELD.add(mine, theirs), 1, values))
    assert np.array_equal(read, steps)


@settings(max_examples=40, deadline=None)
@given(values=st.integers(1, 2**15), norm=st.integers(1, 2**48))
def test_the_claim_is_nearly_the_norm_and_nothing_wraps_around(values: int, norm: int) -> None:
    statement = claim(values, norm)
    bound = statement.norm
    assert bound is not None
    assert statement.rows * statement.cells >= values
    assert statement.most >= norm
    # What passes: rounded to units it is within the claim, and rounding took half a unit of each value.
    root = math.isqrt(values - 1) + 1
    passes = math.isqrt(bound.most) * bound.unit + root * (bound.unit // 2)
    assert norm <= passes <= norm + (root + 2) * bound.unit
    assert passes <= 1.004 * norm + root + 2
    highest = (2 * statement.most // bound.unit + 1) // 2
    assert statement.size * highest**2 < FIELD.prime
    assert (statement.rows + 1) * bound.most < FIELD.prime
    assert bound.unit == 1 or statement.size * (SIGNED_BASE * highest) ** 2 >= FIELD.prime / 2, "no coarser"


@settings(max_examples=40, deadline=None)
@given(values=st.integers(1, 200), norm=st.integers(1, 2**52), seed=st.integers(0, 2**32 - 1))
def test_every_sum_within_the_norm_is_within_the_claim(values: int, norm: int, seed: int) -> None:
    """Rounding of what is proved takes nothing off what a party may add up to."""
    statement = claim(values, norm)
    assert statement.norm is not None
    steps = np.trunc(unit_vector(np.random.default_rng(seed), values) * norm * (1 - 2.0**-40))
    assert statement.norm.admits(np.pad(steps.astype(np.int64), (0, statement.size - values))[None])


@pytest.mark.parametrize("norm", [3000, 2**26])
def test_a_sum_may_be_as_long_as_the_claim_and_no_longer(norm: int) -> None:
    statement = claim(9, norm)
    assert statement.norm is not None
    unit = statement.norm.unit
    longest = math.isqrt(statement.norm.most) * unit + unit // 2
    assert Sum(statement, [longest] + 8 * [0]).accepted()
    assert Sum(statement, 8 * [0] + [-longest]).accepted()
    for beyond in (longest + 1, -longest - 1, statement.most):
        assert not Sum(statement, 9 * [0]).pretend([0, beyond] + 7 * [0])
        assert not Sum(statement, 9 * [0]).pretend([0, beyond] + 7 * [0], statement.norm.most)


@pytest.mark.parametrize("places", [(0, 1), (0, 8), (3, 5)])
def test_rows_that_are_short_each_are_not_accepted_if_together_they_are_long(places: tuple[int, int]) -> None:
    """Values lie in rows of the statement; each alone is within the norm, and together they are not."""
    statement = claim(9, 2**20)
    steps = np.zeros(9, np.int64)
    steps[list(places)] = 2**20
    assert not Sum(statement, np.zeros(9, np.int64)).pretend(steps)
    assert statement.norm is not None
    assert not Sum(statement, np.zeros(9, np.int64)).pretend(steps, statement.norm.most)


def test_values_that_are_no_digits_are_refused_though_their_norm_is_written_right() -> None:
    """Of 2^30.5 and of half the field squares wrap around."""
    statement = claim(4, 2**20)
    for value in (FIELD.prime // 2, round(2**30.5), -(2**40)):
        made = Sum(statement, [1, 0, 0, 0])
        change = np.zeros(made.part.layout.writing.size, np.int64)
        change[0] = value
        made.prover.alter(change)
        assert not made.accepted()


@pytest.mark.parametrize("by", [11, -11, 5, -6, 1, 2**40])
def test_a_digit_beyond_its_range_is_refused_though_the_value_is_right(by: int) -> None:
    """The next place makes up for it: only the range of digits is broken, and of 1 the norm."""
    statement = claim(4, 2**20)
    made = Sum(statement, [5, 0, 0, 0])
    writing = made.part.layout.writing
    change = np.zeros(writing.size, np.int64)
    change[0] = by
    if by % SIGNED_BASE == 0:
        change[statement.size] = -(by // SIGNED_BASE)
    made.prover.alter(change)
    assert not made.accepted()


def test_another_sum_of_norms_than_the_rows_is_refused() -> None:
    for said in (0, 1, 2**30):
        assert not Sum(claim(9, 2**20), [2**19] + 8 * [0]).pretend([2**19] + 8 * [0], said)


def test_norms_of_rows_that_are_not_theirs_are_refused_though_they_add_up() -> None:
    """What a value adds to one row's norm is taken off both: its row says 0, and so does the sum."""
    made = Sum(claim(9, 2**20), [2**19] + 8 * [0])
    writing = made.part.layout.writing
    change = np.zeros(writing.size, np.int64)
    norms = slice(writing.counts.size, writing.size)
    change[norms] = -made.prover._digits[0][norms]
    made.prover.alter(change)
    assert not made.accepted()


def test_longer_sums_are_not_proved() -> None:
    statement = claim(4, 2**20)
    with pytest.raises(ValueError, match="larger norms"):
        Sum(statement, [2**20, 2**20, 0, 0])
    with pytest.raises(ValueError, match="outside"):
        Sum(statement, [statement.most + 1, 0, 0, 0])


def test_what_does_not_fit_the_field_is_refused_before_anybody_is_asked() -> None:
    """The largest party counts 4 trillion records."""
    plan = Plan(**FIELDS | {"ring_bits": 61})
    for weight in (2**25, 2**27):
        cohort = common_pb2.Cohort(weight=weight, records=[2**32 - 1], groups=["all"])
        large = common_pb2.Participant(site="a", cohorts=[cohort])
        with nullcontext() if weight == 2**25 else pytest.raises(OstrakaError, match="do not fit the field"):
            check_parts(plan, large)


@pytest.mark.parametrize(
    "statement",
    [
        {"most": 6, "norm": Norm(2, 4)},
        {"most": 5, "norm": Norm(2, 4), "total": 3},
        {"most": 5, "norm": Norm(2, 4, unit=11), "signed": False},
    ],
    ids=["digits write more", "a total", "unsigned and rounded"],
)
def test_claims_that_no_digits_or_polynomials_hold_are_refused(statement: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=r"norm|total"):
        Statement(**{"rows": 1, "cells": 2, "total": None, "signed": True} | statement)  # type: ignore[arg-type]


def test_norms_are_of_powers_of_the_digits_base() -> None:
    with pytest.raises(ValueError, match="powers of 11"):
        Norm(2, 4, unit=12)


@settings(max_examples=30)
@given(count=st.integers(1, 8), value=st.floats(-1, 1))
def test_signed_digits_write_every_number_and_round_as_the_norm_does(count: int, value: float) -> None:
    statement = Statement(1, 1, reach_of_digits(count), None, Norm(2, 1), signed=True)
    number = round(value * statement.most)
    writing = layout_of(statement, FIELD).writing
    written = writing.counts.write(np.array([[number]]))
    assert abs(written).max() <= 5
    assert sum(int(digit) * SIGNED_BASE**place for place, digit in enumerate(written)) == number
    for place in range(count):
        rounded = Norm(2, 1, SIGNED_BASE**place).round_counts(np.array([number]))
        upper = sum(int(digit) * SIGNED_BASE**at for at, digit in enumerate(written[place:]))
        assert rounded.tolist() == [upper]


def test_only_cohorts_that_take_part_allow_anything() -> None:
    plan = Plan(**FIELDS | {"ring_bits": 61})
    cohorts = [common_pb2.Cohort(weight=VOTE, records=[records], groups=["all"]) for records in (100, 5)]
    party = common_pb2.Participant(site="a", cohorts=cohorts)
    bounds = []
    for scheduled in ([True, True], [False, True], [False, False]):
        (part, _) = sum_parts(plan, party, np.array(scheduled)[:, None])
        norm = part.layout.statement.norm
        assert norm is not None
        bounds.append(math.isqrt(norm.most) * norm.unit / VOTE)
    assert bounds == pytest.approx([105, 5, 0], abs=0.01)
