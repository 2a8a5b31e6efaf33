"""What one round leaves to the others."""

from hypothesis import given
from hypothesis import strategies as st

from ostraka.client.rounds.learning import equal_share

counts = st.integers(1, 10_000)


@given(counts, counts, st.integers(1, 50))
def test_a_share_is_the_largest_that_every_round_can_have(now: int, later: int, rounds: int) -> None:
    share = equal_share(now, later, rounds)

    def spent(queries: int) -> int:
        return queries * later + (rounds - 1) * queries * now

    assert share == 1 or spent(share) <= now * later
    assert spent(share + 1) > now * later


def test_one_round_has_all_and_equal_ones_the_same() -> None:
    assert equal_share(12, 7, 1) == 12
    assert equal_share(12, 12, 3) == 4
    assert equal_share(10, 20, 2) == 6
