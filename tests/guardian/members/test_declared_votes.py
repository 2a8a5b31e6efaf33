"""Raises of one person's votes that a restored ledger may have forgotten."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ostraka.guardian.members.registration import find_raise, find_unknown_raise

VOTES = st.lists(st.integers(1, 4), max_size=6)


@pytest.mark.parametrize(
    ("known", "declared", "raised"),
    [
        ([1], [1], None),
        ([1], [1, 3], 3),
        ([1], [1, 3, 1], 3),
        ([1, 1], [1, 3, 1], 3),
        ([1, 3, 1], [1, 3, 1], None),
        ([1, 3, 1], [1, 3, 1, 2, 1], 2),
        ([3], [3, 1], None),
        ([], [1, 3, 1], 3),
        ([], [3, 1], None),
        ([1, 3, 1], [1], None),
        ([2], [3], 3),
        ([1, 2], [1, 3, 1, 2], None),
    ],
)
def test_a_raise_that_no_manifest_tells_counts(
    known: Sequence[int], declared: Sequence[int], raised: int | None
) -> None:
    assert find_unknown_raise(known, declared) == raised


@given(VOTES, VOTES)
def test_every_number_above_an_earlier_one_is_covered_by_the_raise(known: list[int], lost: list[int]) -> None:
    """Entries charged for the last number before the loss, or any since, count by what came later."""
    found = find_unknown_raise(known, [*known, *lost]) or 0
    since = [*known[-1:], *lost]
    later = [after for place, before in enumerate(since) for after in since[place:] if after > before]
    assert found >= max(later, default=0)


@given(VOTES)
def test_what_is_known_raises_nothing_again(known: list[int]) -> None:
    assert find_unknown_raise(known, known) is None
    assert find_raise(sorted(known, reverse=True)) is None
