"""A party with records and no teachers among others, as processes."""

import shutil
from pathlib import Path

import pytest

from ostraka.services.party import Party
from ostraka.services.teachers.config import TEACHERS
from ostraka.services.teachers.options import TeacherOptions
from tests.e2e.sites import SETTINGS, Sites
from tests.e2e.test_sums import ask, start_with_sums

pytestmark = pytest.mark.heavy


def test_it_answers_sums_and_leaves_votes_to_the_others(sites: Sites, tmp_path: Path) -> None:
    alone = SETTINGS.sites[0]
    shutil.rmtree(sites.folder / alone / TEACHERS)
    manifest = Party(sites.folder / alone).train(options=TeacherOptions(teachers=0))
    assert (manifest.teachers, manifest.library) == (0, "none")
    start_with_sums(sites)
    run = tmp_path / "run"
    run.mkdir()
    ask(sites, run)
    charged = sites.charged()
    assert all(epsilon > 0 for epsilon in charged.values())
    assert sites.label().answered
    after = sites.charged()
    assert {site for site in SETTINGS.sites if after[site] > charged[site]} == {*SETTINGS.sites[1:]}
