"""Progress of a simulation on a pipe."""

from dataclasses import replace

from ostraka.deploy.simulation.display import StepLines
from tests.client.console.test_progress_lines import RESULT


def test_steps_are_written_as_they_begin_and_labelling_anew_in_each() -> None:
    written: list[str] = []
    times = iter([0.0, 1.0, 31.0, 32.0])
    lines = StepLines(written.append, lambda: next(times))
    with lines.announce("train the teachers"):
        pass
    for _ in range(2):
        with lines.announce("label the pool"):
            for asked in (0, 50):
                lines.labelled(replace(RESULT, asked=asked, answered=asked))
    assert written == [
        "Train the teachers ...",
        "Label the pool ...",
        "0 of 100 queries settled, 0 answered.",
        "Label the pool ...",
        "0 of 100 queries settled, 0 answered.",
    ]
