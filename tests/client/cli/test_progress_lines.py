"""Progress of a labelling on a pipe."""

from dataclasses import replace
from pathlib import Path

from ostraka.client.cli.progress_lines import ProgressLines
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
