"""A simulation from Python."""

from pathlib import Path
from typing import Any

import pytest

import ostraka
from ostraka.deploy.simulation.html import PLOTS
from ostraka.deploy.simulation.run import beside

SMALL: dict[str, Any] = {"parties": 2, "teachers": 2, "model": "logistic_regression", "queries": 10}


@pytest.mark.heavy
def test_it_gives_figures_frames_and_labels(tmp_path: Path) -> None:
    report = ostraka.simulate(folder=tmp_path / "run", seed=3, **SMALL)
    assert report.page.is_file()
    assert str(report).startswith("The student is right on")
    assert len(report.labels) == report.values.queries == 10
    assert report.labels.answered == report.values.answered
    assert report.frame("units")["party"].tolist() == ["party-1", "party-2"]
    assert report.frame("spending")["epsilon_worst_case"].max() == max(
        unit.epsilon_worst_case for unit in report.values.units
    )
    assert {name for name, rows in report.tables.items() if rows} == {
        *("units", "spending", "quality", "classes", "parties")
    }
    assert report.figure("epsilons").axes
    assert "party-1" in report._repr_html_()


def test_whole_settings_take_no_options_beside_them() -> None:
    with pytest.raises(TypeError, match="model_copy"):
        ostraka.simulate(ostraka.Settings(), parties=3)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"partys": 3}, "^partys: there is no such key .did you mean parties"),
        ({"parties": 0}, "^parties: must be"),
        ({"clusters": 5}, "^clusters is for mechanism noise_cluster"),
    ],
)
def test_a_wrong_setting_is_told_by_its_name(options: dict[str, Any], told: str) -> None:
    with pytest.raises(ostraka.OstrakaError, match=told) as refused:
        ostraka.simulate(**options)
    assert refused.value.code is ostraka.ErrorCode.CONFIG_INVALID


def test_a_folder_in_use_is_refused(tmp_path: Path) -> None:
    (tmp_path / "old").write_text("")
    with pytest.raises(ostraka.OstrakaError, match="is not empty"):
        ostraka.simulate(folder=tmp_path, **SMALL)


def test_every_plot_has_its_own_name() -> None:
    assert all(name == plot.__name__ for name, plot in PLOTS.items())


def test_what_is_done_beside_is_done_at_the_end_and_its_failure_raised() -> None:
    done: list[str] = []
    with beside(lambda: done.append("work")):
        done.append("block")
    assert sorted(done) == ["block", "work"]
    with pytest.raises(ZeroDivisionError), beside(lambda: 1 // 0):
        pass
