"""Whole federations whose ballots are verified."""

from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from ostraka.deploy.simulation.processes import Start
from ostraka.deploy.simulation.run import simulate
from ostraka.deploy.simulation.settings import Settings
from tests.e2e.sites import SETTINGS, Sites
from tests.e2e.test_consent import CONSENT, WIDE
from tests.e2e.test_label_dp import simulated
from tests.e2e.test_parties_down import require_right_sums
from tests.e2e.test_simulate import SMALL, several_labels


def test_labels_of_verified_ballots_are_the_plurality_of_all_parties(sites: Sites) -> None:
    sites.start()
    result = sites.label(ballots="verified")
    assert (result.asked, result.answered) == (SETTINGS.records.queries, SETTINGS.records.queries)
    assert all(batch.parties == SETTINGS.sites for batch in sites.state.batches)
    require_right_sums(sites)


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("variant", "tally"), [("vanishing", "aggregate"), ("weighting", "aggregate"), ("weighting", "blind")]
)
def test_cohorts_that_differ_are_verified_one_by_one(
    tmp_path: Path, variant: str, tally: str, start: Start
) -> None:
    wanted = SMALL.model_dump() | CONSENT | WIDE | {"variant": variant, "ballots": "verified", "tally": tally}
    settings = Settings.model_validate(wanted)
    report = simulate(settings, tmp_path / "run", announce=lambda _: nullcontext(), start=start)
    assert report.answered > 0


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("clipping", "tally"),
    [
        ("tau:sigma=1,tau=1.5", "aggregate"),
        ("tau:sigma=1,tau=1.5", "blind"),
        ("l1:sigma=1,tau1=2", "aggregate"),
    ],
)
def test_clipped_ballots_are_verified(tmp_path: Path, clipping: str, tally: str, start: Start) -> None:
    several = {
        "data": several_labels(tmp_path),
        "task": "multilabel",
        "mechanism": clipping,
        "ballots": "verified",
        "tally": tally,
        "enforce": "worst_case",
    }
    settings = Settings.model_validate(SMALL.model_dump() | several)
    report = simulate(settings, tmp_path / "run", announce=lambda _: nullcontext(), start=start)
    assert report.asked == report.answered == 20
    assert all(count.right + count.wrong == 20 for count in report.labels)
    assert report.label_accuracy is not None
    assert report.label_accuracy > 0.5, "about 0.95; so few of 60 have a chance below 1e-9"


@pytest.mark.heavy
@pytest.mark.parametrize("changes", [{"label_dp": "noisecluster"}, {"label_dp": "ldp-normal", "steps": 20}])
def test_records_that_vote_are_verified(tmp_path: Path, changes: dict[str, Any], start: Start) -> None:
    report = simulated(tmp_path / "run", start, ballots="verified", **changes)
    assert report.answered > 0
