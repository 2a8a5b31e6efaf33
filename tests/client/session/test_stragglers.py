"""How long the last parties are waited for, by a timer that a test moves, whoever answers when."""

import math
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ostraka.client.session.stragglers import LOOK_EVERY_S, TIMES_QUORUM, Patience, Waiting

WAIT_S, TICKET_S = 90.0, 900.0
NEVER = math.inf
JUST_S = 0.01
SHORT_S = 20.0
"""A ticket for random cases: a wait without a quorum looks ten times a second until it ends."""
TIMES = st.floats(0, 2) | st.floats(0, 1.5 * SHORT_S) | st.just(NEVER)


def end_of(
    arrivals: Mapping[str, float],
    quorum: int,
    wait_s: float = WAIT_S,
    ticket_s: float = TICKET_S,
    just_in_time: int = 0,
) -> tuple[float, Waiting]:
    """Return when a batch ends whose parties answer at these times, and what waited.

    So many more parties answer just before the wait would be over, each in its turn.
    """
    now = [0.0]
    patience = Patience(wait_s, lambda answered: len(answered) >= quorum, ticket_s)
    waiting = Waiting(patience, lambda: now[0])
    left = dict(sorted(arrivals.items(), key=lambda one: one[1]))
    while (left or just_in_time) and not waiting.over:
        site, at = next(iter(left.items()), ("", NEVER))
        looks = now[0] + waiting.look_s
        now[0] = min(at, looks)
        if at <= looks:
            del left[site]
            waiting.note_answer(site)
        elif just_in_time and waiting.over:
            now[0] = looks - JUST_S
            waiting.note_answer(f"late{just_in_time}")
            just_in_time -= 1
    return now[0], waiting


def answering(times: list[float], name: str) -> dict[str, float]:
    return {f"{name}{number}": at for number, at in enumerate(times)}


@given(
    honest=st.lists(TIMES, min_size=1, max_size=8),
    colluders=st.lists(TIMES, max_size=6),
    just_in_time=st.integers(0, 6),
    quorum=st.integers(1, 7),
    wait_s=st.floats(0, 3),
)
def test_colluders_below_a_quorum_make_no_batch_more_than_twice_as_long(
    honest: list[float], colluders: list[float], just_in_time: int, quorum: int, wait_s: float
) -> None:
    """As the module proves it, whenever they answer."""
    colluders = colluders[: quorum - 1]
    just_in_time = min(just_in_time, quorum - 1 - len(colluders))
    others = answering(honest, "honest")
    all_times = others | answering(colluders, "liar")
    attacked, _ = end_of(all_times, quorum, wait_s, SHORT_S, just_in_time)
    silences = answering([NEVER] * (len(colluders) + just_in_time), "liar")
    silent, _ = end_of(others | silences, quorum, wait_s, SHORT_S)
    alone, _ = end_of(others, quorum, wait_s, SHORT_S)
    assert attacked <= SHORT_S + LOOK_EVERY_S
    assert attacked <= silent + LOOK_EVERY_S
    if sum(at <= SHORT_S for at in honest) >= quorum:
        assert attacked <= 2 * max(wait_s, alone) + LOOK_EVERY_S


@pytest.mark.parametrize("colluders", range(4))
def test_each_colluder_that_answers_just_in_time_gains_nothing(colluders: int) -> None:
    """Of seven parties two answer at once, who are a quorum, and one never does."""
    end, _ = end_of({"a": 0.0, "b": 0.0, "silent": NEVER}, quorum=2, just_in_time=colluders)
    assert end == pytest.approx(WAIT_S, abs=LOOK_EVERY_S)


def test_slow_machines_are_waited_for_twice_as_long_as_a_quorum_took() -> None:
    """The quorum took 200 s, longer than all are waited for in any case."""
    arrivals = {"a": 200.0, "b": 100.0, "slow": 2 * 200.0}
    assert end_of(arrivals, quorum=2)[0] == 400.0
    arrivals["slow"] = 401.0
    assert end_of(arrivals, quorum=2)[0] == pytest.approx(400.0, abs=LOOK_EVERY_S)
    assert TIMES_QUORUM == 2


def test_without_a_quorum_the_wait_goes_on_until_the_ticket_ends() -> None:
    end, _ = end_of({"a": 0.0, "b": NEVER, "c": TICKET_S + 1}, quorum=2)
    assert end == pytest.approx(TICKET_S, abs=LOOK_EVERY_S)


def test_who_was_last_is_told_where_several_answered() -> None:
    waiting = Waiting()
    waiting.note_answer("a")
    assert list(waiting.last) == []
    waiting.note_answer("b")
    assert list(waiting.last) == ["b"]
    for site in ("d", "c"):
        waiting.note_cut(site)
    assert list(waiting.last) == ["c", "d"]
