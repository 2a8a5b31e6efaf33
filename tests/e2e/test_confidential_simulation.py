from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pytest

from ostraka.client.session.meter import StepProgress
from ostraka.common.datasets import digits, save
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.deploy.simulation.processes import Start
from ostraka.deploy.simulation.run import simulate
from ostraka.deploy.simulation.settings import Settings

SMALL = Settings(
    parties=3,
    teachers=2,
    labelled=20,
    queries=20,
    batch_size=20,
    mechanism="confident:sigma1=1.5,sigma2=1.5,threshold=3",
    epsilon=400,
    encoding="ckks",
    tally="blind",
    head="square-mlp",
)


def few_digits(folder: Path) -> str:
    """Write a part of the digits, for teachers that learn soon."""
    file = folder / "digits.npz"
    save(digits().take(np.arange(500)), file)
    return str(file)


def test_a_confidential_simulation_shows_its_steps_and_says_who_saw_what(
    tmp_path: Path, start: Start
) -> None:
    steps: list[StepProgress] = []
    settings = SMALL.model_copy(update={"data": few_digits(tmp_path)})
    report = simulate(
        settings, tmp_path / "run", announce=lambda _: nullcontext(), on_step=steps.append, start=start
    )
    assert (report.encoding, report.tally, report.bound) == ("ckks", "blind", "worst_case")
    assert (report.asked, report.ended_early) == (20, False)
    assert report.answered > 0
    assert all(0 < unit.epsilon_worst_case == unit.epsilon_data_dependent for unit in report.units)
    confidential = {"encrypt", "evaluate", "compare", "tally"}
    assert {step.step for step in steps} == {"train the teachers"} | confidential
    page = (tmp_path / "run" / "report.html").read_text()
    switches = (
        "queries encrypted (ckks, head square-mlp), ballots unverified, histograms seen by nobody (blind)"
    )
    assert switches in page


def test_choices_that_exclude_each_other_train_nothing(tmp_path: Path, start: Start) -> None:
    settings = SMALL.model_copy(update={"mechanism": "interactive"})
    with pytest.raises(OstrakaError, match="choose tally aggregate") as caught:
        simulate(settings, tmp_path / "run", announce=lambda _: nullcontext(), start=start)
    assert caught.value.code == ErrorCode.PLAN_INVALID
    assert not list((tmp_path / "run").glob("party-*/teachers"))
