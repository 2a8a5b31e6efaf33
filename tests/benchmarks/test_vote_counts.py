"""The experiment of docs/threat-labels.md: votes are found as its figures say."""

import pytest

from benchmarks import vote_counts


@pytest.mark.parametrize("count", [7, 125, 181])
def test_a_count_is_found_to_within_what_fishers_information_says(count: int) -> None:
    """Beyond 7 deviations a Gaussian is at p < 1e-9; two more are for labels not asked at the tie."""
    missed = vote_counts.likeliest_count(count, 900) - count
    assert abs(missed) < 9 * vote_counts.deviation_at_tie(900)


def test_it_says_how_far_off_the_counts_are(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(vote_counts, "BUDGETS", (1.0,))
    monkeypatch.setattr(vote_counts, "COUNTS", (50, 100))
    vote_counts.main()
    assert "epsilon 1: 75 labels, missed by" in capsys.readouterr().out
