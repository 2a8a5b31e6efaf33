"""On which grids votes are worked on, and for which noise a cost is proved to fall."""

import math

import numpy as np
import pytest

from ostraka.guardian.accounting.bounds import vote_terms
from ostraka.guardian.accounting.bounds.vote_terms import _MIN_SCALE, Moves, argmax_term, check_term

MOVES = Moves(order=8.0, sensitivity=1.0, moved=1.0, most=6.0)
VOTES = np.array([[5.0, 1.0]])


def test_so_many_cells_are_worked_on_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    term = argmax_term(VOTES, 4.0, MOVES)
    assert term.countable
    monkeypatch.setattr(vote_terms, "_MAX_CELLS", term._cells)
    assert term.countable
    monkeypatch.setattr(vote_terms, "_MAX_CELLS", term._cells - 1)
    assert not term.countable


@pytest.mark.parametrize(("wider", "falls"), [(1.0, True), (1 - 1e-9, False)])
def test_costs_are_proved_to_fall_where_noise_is_wide_enough(wider: float, falls: bool) -> None:
    """A vote moves two counts of an argmax, and one of a check: that one's noise may be narrower."""
    scale = wider * _MIN_SCALE * (1 + 1e-12)
    check = check_term(VOTES, 3.0, scale / math.sqrt(2), MOVES)
    assert [argmax_term(VOTES, scale, MOVES).falls, check.falls] == [falls, falls]
