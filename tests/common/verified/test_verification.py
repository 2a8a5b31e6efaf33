"""What is accepted of verified ballots, and what is not."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from ostraka.common.errors import OstrakaError
from ostraka.common.sharing.prime_field import PrimeField
from ostraka.common.sharing.statement import Norm, Statement
from ostraka.common.verified import querier, verifier
from ostraka.common.verified.layout import layout_of
from tests.common.verified.ballots import Ballot

SMALL, LARGE = PrimeField(31), PrimeField(61)
FIELDS = [SMALL, LARGE]


def honest(statement: Statement, seed: int = 0) -> NDArray[np.int64]:
    """Return counts that the statement is true of."""
    rng = np.random.default_rng(seed)
    if statement.norm is not None:
        counts = rng.integers(0, statement.most + 1, (statement.rows, statement.cells))
        return counts * (statement.norm.of(counts) <= statement.norm.most)[:, None]
    if statement.total is None:
        return rng.integers(0, statement.most + 1, (statement.rows, statement.cells))
    even = np.full(statement.cells, 1 / statement.cells)
    return rng.multinomial(statement.total, even, statement.rows).astype(np.int64)


def ballot(field: PrimeField, *statements: Statement) -> Ballot:
    return Ballot([layout_of(one, field) for one in statements], [honest(one) for one in statements])


CLASSES = Statement(rows=7, cells=5, most=10, total=10)
LABELS = Statement(rows=6, cells=4, most=50, total=None)
CLIPPED = Statement(rows=6, cells=4, most=50, total=None, norm=Norm(2, 5000))
CLIPPED_L1 = Statement(rows=6, cells=4, most=50, total=None, norm=Norm(1, 90))


@pytest.mark.parametrize("field", FIELDS)
@settings(max_examples=15)
@given(
    rows=st.integers(1, 9),
    cells=st.integers(1, 6),
    most=st.integers(1, 400),
    summing=st.booleans(),
)
def test_true_statements_are_accepted_and_shares_add_up(
    field: PrimeField, rows: int, cells: int, most: int, summing: bool
) -> None:
    one = Statement(rows, cells, most, most if summing else None)
    made = ballot(field, one, CLASSES)
    assert made.accepted()
    halves = (
        querier.count_shares(made.layouts, made.context, made.seed),
        verifier.count_shares(made.layouts, made.submission),
    )
    for mine, theirs, counts in zip(*halves, made.counts, strict=True):
        assert np.array_equal(field.lift(field.add(mine, theirs)), counts)


@pytest.mark.parametrize("field", FIELDS)
@pytest.mark.parametrize("statement", [CLASSES, LABELS, CLIPPED, CLIPPED_L1])
@pytest.mark.parametrize("size", [1, -1, 1000, 2**30 - 1, 2**60 - 1])
def test_stuffed_ballots_are_refused(field: PrimeField, statement: Statement, size: int) -> None:
    """A count is too large by this, or negative, and another makes up for it, so that the sum is right."""
    made = ballot(field, statement)
    layout = made.layouts[0]
    change, top = np.zeros(layout.writing.size, dtype=np.int64), layout.places[0].digit.top
    beyond = size + top if size > 0 else size - top
    change[:2] = beyond, -beyond
    made.prover.alter(change)
    assert not made.accepted()


@pytest.mark.parametrize("field", FIELDS)
def test_a_row_of_another_sum_is_refused(field: PrimeField) -> None:
    made = ballot(field, CLASSES)
    change = np.zeros(CLASSES.size, dtype=np.int64)
    change[int(made.counts[0].ravel().argmin())] = 1
    made.prover.alter(change)
    assert not made.accepted()


@pytest.mark.parametrize("field", FIELDS)
def test_a_digit_beyond_its_top_is_refused_though_the_count_is_right(field: PrimeField) -> None:
    statement = Statement(rows=3, cells=2, most=50, total=None)
    layout = layout_of(statement, field)
    low, high = (place.digit for place in layout.places)
    made = Ballot([layout], [np.full((3, 2), high.weight)])
    change = np.zeros((2, statement.size), dtype=np.int64)
    change[:, 0] = (high.weight * 2, -2) if high.weight <= low.top else (high.weight, -1)
    made.prover.alter(change.ravel())
    assert not made.accepted()


@pytest.mark.parametrize("field", FIELDS)
def test_what_belongs_to_something_else_is_refused(field: PrimeField) -> None:
    made, other = ballot(field, CLASSES, LABELS), ballot(field, CLASSES, LABELS)
    proof = made.prover.prove(made.challenge)
    assert made.accepted()
    assert not made.accepted(context=b"another batch")
    assert not made.accepted(challenge=other.challenge)
    assert not made.accepted(seed=other.seed)
    assert not made.accepted(proof=other.prover.prove(other.challenge))
    assert not made.accepted(told=other.message)
    assert not made.accepted(submission=replace(made.submission, blind_seed=other.submission.blind_seed))
    assert not made.accepted(submission=other.submission)
    for cut in (proof[:-4], proof + bytes(4), b""):
        assert not made.accepted(proof=cut)
    for cut in (made.message[:-1], made.message + bytes(8), bytes([255]) * len(made.message)):
        assert not made.accepted(told=cut)


@pytest.mark.parametrize("field", FIELDS)
def test_a_share_altered_after_the_proof_is_refused(field: PrimeField) -> None:
    made = ballot(field, CLASSES)
    share = made.submission.share
    values = field.from_bytes(share, 1, CLASSES.size)
    values[0, 3] = field.add(values[0, 3:4], np.ones(1, np.uint64))[0]
    assert not made.accepted(submission=replace(made.submission, share=field.to_bytes(values)))


def test_ballots_are_proved_to_one_challenge_alone() -> None:
    prover = ballot(SMALL, CLASSES).prover
    first = prover.prove(bytes(32))
    assert prover.prove(bytes(32)) == first
    with pytest.raises(OstrakaError) as refused:
        prover.prove(bytes([1]) * 32)
    assert refused.value.code == "batch.altered"


def test_seeds_expand_otherwise_for_each_batch_and_part() -> None:
    layouts = [layout_of(CLASSES, SMALL)] * 2
    here = querier.count_shares(layouts, b"here", bytes(32))
    there = querier.count_shares(layouts, b"there", bytes(32))
    assert len({array.tobytes() for array in (*here, *there)}) == 4


@pytest.mark.parametrize(
    "sent", [(b"", bytes(32), bytes(32)), (None, bytes(31), bytes(32)), (None, bytes(32), b"")]
)
def test_submissions_of_other_lengths_are_invalid(sent: tuple[bytes | None, bytes, bytes]) -> None:
    made = ballot(SMALL, CLASSES)
    share = made.submission.share if sent[0] is None else sent[0]
    with pytest.raises(OstrakaError) as refused:
        verifier.Submission.read(made.layouts, share, *sent[1:])
    assert refused.value.code == "message.invalid"


@pytest.mark.parametrize(
    "counts", [np.full((7, 5), 11), np.full((7, 5), -1), np.full((7, 5), 1), np.zeros((7, 4), int)]
)
def test_counts_that_are_not_true_are_not_proved(counts: NDArray[np.int64]) -> None:
    with pytest.raises(ValueError, match=r"counts|rows"):
        Ballot([layout_of(CLASSES, SMALL)], [counts])


@pytest.mark.parametrize("field", FIELDS)
@pytest.mark.parametrize(
    "statement",
    [
        CLASSES,
        LABELS,
        CLIPPED,
        Statement(1000, 10, 50, 50),
        Statement(1, 2001, 400, 400),
        Statement(1000, 20, 3200, None, Norm(2, 40_960_000)),
    ],
)
def test_forgeries_succeed_with_less_than_one_in_2_to_the_40(field: PrimeField, statement: Statement) -> None:
    assert layout_of(statement, field).soundness_bits >= 40


@pytest.mark.parametrize("values", [(0, 1, 1, 1), (1, 0, 1, 1), (1, 1, 0, 1), (1, 1, 1, 2)])
def test_statements_about_nothing_are_refused(values: tuple[int, int, int, int]) -> None:
    with pytest.raises(ValueError, match=r"statement|sum"):
        Statement(*values)
