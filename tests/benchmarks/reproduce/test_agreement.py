import pytest

from benchmarks.reproduce.agreement import disagreements
from benchmarks.reproduce.cell import Figure, Outcome


def sentences(before: Figure, after: Figure) -> list[str]:
    return list(disagreements(Outcome((before,)), Outcome((after,))))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ((10.0,), (11.9,)),
        ((10.0, 12.0, 14.0), (21.0, 22.0, 23.0)),
        ((0.0,), (0.01,)),
    ],
)
def test_numbers_agree_as_near_as_runs_are(before: tuple[float, ...], after: tuple[float, ...]) -> None:
    assert sentences(Figure("right, %", before), Figure("right, %", after)) == []


@pytest.mark.parametrize(
    ("before", "after"),
    [((10.0,), (12.1,)), ((10.0,), (7.9,)), ((10.0, 10.1, 9.9), (12.5, 12.6, 12.4)), ((0.0,), (1.0,))],
)
def test_other_numbers_are_told(before: tuple[float, ...], after: tuple[float, ...]) -> None:
    (sentence,) = sentences(Figure("right, %", before), Figure("right, %", after))
    assert sentence.startswith("right, %: ")
    assert sentence.endswith(" now")


def test_what_is_no_longer_measured_is_told() -> None:
    assert sentences(Figure("right, %", (10.0,)), Figure("wrong, %", (10.0,))) == [
        "right, %: 10 before, and is no longer measured"
    ]


def test_times_are_the_machines() -> None:
    assert sentences(Figure("draws a second", (10.0,)), Figure("draws a second", (90.0,))) == []
    assert sentences(Figure("a processor second", (10.0,)), Figure("a processor second", (90.0,))) == []
    assert sentences(Figure("milliseconds", (10.0,)), Figure("milliseconds", (90.0,))) == []
    assert sentences(Figure("ALIBI: times that", (10.0,)), Figure("ALIBI: times that", (90.0,))) == []
    assert (
        sentences(Figure("LP-1ST: processor seconds", (10.0,)), Figure("LP-1ST: processor seconds", (1.0,)))
        == []
    )
