"""Advice held against what happened, by figures that are made up."""

from dataclasses import replace

import numpy as np
import pytest

from benchmarks.advice.cases import HELD_CASES, TUNING_CASES, Case
from benchmarks.advice.cells import Cell, read_records
from benchmarks.advice.held import compare, tell_errors
from benchmarks.advice.tables import HELD, TUNING
from ostraka.deploy.advice.attempts import Attempt, WayName
from ostraka.deploy.advice.measures import Measured
from ostraka.deploy.advice.splits import Amounts
from tests.deploy.advice.tables import features, table

CASE = Case("iris", 150, 3, 8)
AMOUNTS = Amounts(own=40, pool=100, test=200, private=1000, shown=1000)


def attempt(way: WayName, variant: str, accuracy: float) -> Attempt:
    return Attempt(way, variant, CASE.epsilon if way == "sums" else None, Measured(accuracy, accuracy))


def tries(frequent: float, own: float, sums: float) -> list[Attempt]:
    return [
        attempt("nothing", "most frequent", frequent),
        attempt("own", "linear", own),
        attempt("pooled", "linear", 0.9),
        attempt("sums", "moments", sums),
    ]


def cell(seen: tuple[float, float, float], happened: tuple[float, float, float]) -> Cell:
    draws = [one for shift in (-0.001, 0.001) for one in tries(*(value + shift for value in seen))]
    return Cell("accuracy", AMOUNTS, draws, [tries(*happened)], seconds=1.0)


def test_held_tables_are_none_that_the_advice_was_developed_on() -> None:
    assert not set(HELD) & set(TUNING)
    assert {one.table for one in HELD_CASES} <= set(HELD)
    assert {one.table for one in TUNING_CASES} <= set(TUNING)


def test_held_cases_are_of_every_size_number_of_sites_and_epsilon() -> None:
    assert len(HELD_CASES) == 30
    for values, low, high in (
        ([one.size for one in HELD_CASES], 200, 50_000),
        ([one.parties for one in HELD_CASES], 2, 50),
        ([one.epsilon for one in HELD_CASES], 0.5, 8),
    ):
        assert min(values) <= low
        assert max(values) >= high
    assert {one.skew is None for one in HELD_CASES} == {True, False}


def test_doing_nothing_is_what_the_advice_says_is_as_good() -> None:
    own_tells_less = cell(seen=(0.8, 0.7, 0.6), happened=(0.78, 0.79, 0.5))
    held = compare(CASE, own_tells_less)
    assert (held.advised, held.keeps) == ("nothing most frequent", True)
    assert held.mean == pytest.approx(0.78), "the most frequent class, not own records"
    assert compare(CASE, cell((0.6, 0.7, 0.6), (0.78, 0.79, 0.5))).advised == "own linear"


def test_both_errors_are_counted() -> None:
    kept = compare(CASE, cell(seen=(0.5, 0.7, 0.7), happened=(0.5, 0.7, 0.72)))
    assert (kept.keeps, kept.near, kept.helpless, kept.loses) == (True, False, False, False)
    promised = compare(CASE, cell(seen=(0.5, 0.7, 0.75), happened=(0.5, 0.7, 0.695)))
    assert (promised.keeps, promised.near, promised.helpless, promised.loses) == (False, True, True, True)
    assert "\n".join(tell_errors([kept, promised, promised])) == (
        "Within a point of the best: 2 of 3.\n"
        "Of the others 1 say to do nothing.\n"
        "Nothing helps in 2; the advice says so in 0.\n"
        "Of 2 ways advised 2 give less than doing nothing.\n"
        "Intervals hold the first outcome in 3 of 3."
    )


def test_quantities_are_learned_as_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    def read() -> tuple[object, tuple[str, ...]]:
        return table(features(80), pounds=np.arange(80) // 8), ("pounds",)

    monkeypatch.setitem(HELD, "birth weights", read)
    monkeypatch.setitem(HELD, "iris", read)
    assert read_records(replace(CASE, table="birth weights")).kind == "number"
    assert read_records(CASE).kind == "classes"
