"""What guardian and party see of ballots or points is uniform, whatever the ballots are."""

from __future__ import annotations

import secrets

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from ostraka.common.sharing.prime_field import FieldArray, PrimeField
from ostraka.common.sharing.statement import Norm, Statement, reach_of_digits
from ostraka.common.verified.evaluation import Point, verifier_share
from ostraka.common.verified.expansion import expand
from ostraka.common.verified.layout import POINTS_BELOW, Layout, gaps_to
from ostraka.common.verified.prover import Prover
from ostraka.common.verified.querier import message
from tests.common.verified.tiny_field import TinyField, TinyLayout

P_VALUE = 1e-9
FIELD = TinyField()
CELLS = FIELD.prime**FIELD.degree
SUMS = TinyLayout(Statement(rows=90_000, cells=3, most=3, total=3), FIELD)
NORMS = TinyLayout(Statement(rows=45_000, cells=3, most=3, total=None, norm=Norm(2, 9)), FIELD)
SIGNED = TinyLayout(
    Statement(45_000, 3, reach_of_digits(1), None, Norm(2, 9 * 45_000, joint=True), signed=True), FIELD
)
LAYOUTS = pytest.mark.parametrize("layout", [SUMS, NORMS], ids=["sums", "norms"])


def seed() -> bytes:
    return secrets.token_bytes(32)


def ballots(votes: str, rows: int) -> NDArray[np.int64]:
    """Return ballots that all agree, or that do not."""
    if votes == "unanimous":
        return np.tile(np.array([3, 0, 0]), (rows, 1))
    return np.random.default_rng().multinomial(3, [0.2, 0.3, 0.5], rows).astype(np.int64)


def histogram(wires: FieldArray) -> NDArray[np.int64]:
    return np.bincount((wires[:, 0] * np.uint64(127) + wires[:, 1]).astype(np.int64), minlength=CELLS)


def seen_by_guardian(layout: Layout, counts: NDArray[np.int64]) -> FieldArray:
    """Return every wire at the point, put together from both verifier shares."""
    return values_seen(layout, counts)[: layout.wires]


def values_seen(layout: Layout, counts: NDArray[np.int64]) -> FieldArray:
    """Return all that is put together from both verifier shares; the quotient is a random one."""
    party_seed, blind_seed, point = seed(), seed(), Point(seed())
    prover = Prover([layout], [counts], b"batch", party_seed, blind_seed)
    (share,) = FIELD.from_bytes(prover.guardian_share, 1, layout.writing.size)
    blinds = expand(FIELD, "blinds", b"batch", 0, blind_seed, layout.wires, layout.blinds)
    unused = np.zeros((layout.proof_values, FIELD.degree), np.uint64)
    claimed = layout.statement.total or 0
    own = verifier_share(layout, point.evaluation(layout), share, blinds, unused, claimed)
    told = message([layout], b"batch", party_seed, point)
    total: FieldArray = FIELD.add(own, FIELD.from_bytes(told, layout.message_values, FIELD.degree))
    return total


@LAYOUTS
@pytest.mark.parametrize("votes", ["unanimous", "divided"])
def test_the_wires_that_the_guardian_sees_are_uniform(layout: Layout, votes: str) -> None:
    wires = seen_by_guardian(layout, ballots(votes, layout.statement.rows))
    for place in layout.places:
        assert stats.chisquare(histogram(wires[place.wires])).pvalue > P_VALUE


@LAYOUTS
def test_they_are_not_uniform_without_blinds(layout: Layout) -> None:
    digits = layout.writing.write(ballots("divided", layout.statement.rows))
    evaluation = Point(seed()).evaluation(layout)
    bare = FIELD.dot(FIELD.wrap(layout.arrange(digits)), evaluation.wire[layout.blinds :])
    for place in layout.places:
        assert stats.chisquare(histogram(bare[place.wires])).pvalue < P_VALUE


@LAYOUTS
@pytest.mark.parametrize("votes", ["unanimous", "divided"])
def test_the_share_that_the_guardian_holds_is_uniform(layout: Layout, votes: str) -> None:
    prover = Prover([layout], [ballots(votes, layout.statement.rows)], b"batch", seed(), seed())
    share = FIELD.from_bytes(prover.guardian_share, 1, layout.writing.size)
    observed = np.bincount(share.ravel().astype(np.int64), minlength=FIELD.prime)
    assert stats.chisquare(observed).pvalue > P_VALUE


@pytest.mark.parametrize("votes", ["unanimous", "divided"])
def test_the_wires_of_a_row_and_its_norm_are_uniform_together(votes: str) -> None:
    """One polynomial joins them, and still no wire at the point tells another."""
    wires = seen_by_guardian(NORMS, ballots(votes, NORMS.statement.rows))
    groups = NORMS.norm_groups
    for first, second in ((0, 1), (0, 3), (2, 3), (3, 4)):
        pairs = np.stack([wires[lane * groups : (lane + 1) * groups, 0] for lane in (first, second)], 1)
        assert stats.chisquare(histogram(pairs)).pvalue > P_VALUE


@pytest.mark.parametrize("votes", ["unanimous", "divided"])
def test_of_signed_numbers_nothing_is_seen_but_that_their_norms_add_up(votes: str) -> None:
    """All norms are as large as they may be, or smaller: what is checked of their sum is 0 either way."""
    counts = ballots(votes, SIGNED.statement.rows) * np.array([1, -1, 1])
    values = values_seen(SIGNED, counts)
    for place in SIGNED.places:
        alone = place.wires.stop - place.wires.start == 1
        assert alone or stats.chisquare(histogram(values[place.wires])).pvalue > P_VALUE
    assert len(values) == SIGNED.wires + 2
    assert not values[-1].any()


def small_layout(field: PrimeField) -> Layout:
    return TinyLayout(Statement(rows=1, cells=3, most=1, total=None), field)


def test_the_point_never_lies_in_the_prime_field() -> None:
    layout = small_layout(FIELD)
    drawn = [Point(seed()).element(FIELD) for _ in range(1500)]
    assert min(int(element[1]) for element in drawn) > 0
    assert all(gaps_to(FIELD, element, 0, layout.points).any(1).all() for element in drawn)


def test_the_point_of_the_field_without_extension_lies_beyond_all_points() -> None:
    element = Point(seed()).element(PrimeField(61))
    assert element.shape == (1,)
    assert int(element[0]) >= POINTS_BELOW


@pytest.mark.parametrize("bits", [31, 61])
def test_a_point_is_the_same_on_both_sides_and_another_in_another_batch(bits: int) -> None:
    field = PrimeField(bits)
    first, again, other = Point(bytes(32)), Point(bytes(32)), Point(bytes(31) + b"\1")
    assert np.array_equal(first.element(field), again.element(field))
    assert not np.array_equal(first.element(field), other.element(field))


def test_seeds_of_another_length_make_no_point() -> None:
    with pytest.raises(ValueError, match="32 bytes"):
        Point(bytes(16))
