"""How many queries a search simulates."""

import pytest

from ostraka.common.planning.search.vote_sample import most_queries


@pytest.mark.parametrize(
    ("teachers", "classes", "queries"),
    [(1, 2, 1000), (400, 10, 1000), (400, 11, 909), (4_000, 10, 100), (4_001, 10, 100), (10**6, 1000, 100)],
)
def test_a_sample_has_about_four_million_ballots_and_never_too_few_queries(
    teachers: int, classes: int, queries: int
) -> None:
    assert most_queries(teachers, classes) == queries
