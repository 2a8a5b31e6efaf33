"""Progress of a labelling on a pipe."""

from dataclasses import replace
from pathlib import Path

from ostraka.client.console import ProgressLines
from ostraka.client.run.labelling import LabelResult

RESULT = LabelResult(
    run=Path("run"),
    queries=100,
    asked=0,
    answered=0,
    stopped=None,
    enforce="worst_case",
    bound="worst_case",
    encoding="plain",
    tally="aggregate",
    ballots="verified",
)


def test_a_line_is_written_at_first_and_then_now_and_then() -> None:
    written: list[str] = []
    times = iter([0.0, 10.0, 40.0, 50.0, 90.0])
    lines = ProgressLines(written.append, lambda: next(times))
    for asked in (10, 20, 30, 40, 94):
        lines.labelled(replace(RESULT, asked=asked, answered=asked // 2))
    assert written == [
        "10 of 100 queries settled, 5 answered.",
        "30 of 100 queries settled, 15 answered, about 2 min left.",
        "94 of 100 queries settled, 47 answered, less than a minute left.",
    ]


def test_how_long_a_training_will_take_is_told_from_its_first_steps_on() -> None:
    written: list[str] = []
    times = iter([0.0, 4.0, 10.0, 34.0, 700.0])
    lines = ProgressLines(written.append, lambda: next(times))
    for done in (10, 20, 30, 100, 2990):
        lines.trained("all", done, 3000)
    assert written == [
        "Training all: 20 of 3000 steps, about 20 min left.",
        "Training all: 100 of 3000 steps, about 18 min left.",
    ]


def test_a_training_that_is_soon_done_is_not_told_of_and_each_is_timed_by_itself() -> None:
    written: list[str] = []
    times = iter([0.0, 1.0, 2.0, 12.0])
    lines = ProgressLines(written.append, lambda: next(times))
    for name, done in (("own", 10), ("own", 20), ("all", 10), ("all", 20)):
        lines.trained(name, done, 300)
    assert written == ["Training all: 20 of 300 steps, about 5 min left."]
