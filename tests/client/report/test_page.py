"""The page of a run: whole in itself, escaped, and no epsilon on it without its notion."""

import base64
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from ostraka.client.report.page import render, write_page
from ostraka.client.report.run_report import report
from ostraka.client.report.tables import verdict
from ostraka.client.retraining import retrain
from ostraka.common.errors import ErrorCode, OstrakaError
from tests.client.dependencies.clinic import ask
from tests.client.driving import options, run, run_of
from tests.client.federation import Federation

EVIL = "<script>alert('$x_1$')</script> & \"co\""


class Tags(HTMLParser):
    """Every tag and attribute of a page, and its text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.sources: list[str] = []
        self.texts: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}
        self.sources += [value or "" for name, value in attrs if name == "src"]

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


@pytest.fixture
def figures(federation: Federation) -> dict[str, Any]:
    own = federation.root / "own.csv"
    own.write_text("first,second,label\n" + "0,0,ant\n0.5,0.5,bee\n1,1,cat\n" * 4)
    run(federation, options(queries=8))
    retrain(federation.site, own, run_of(federation), federation.pool, test=own)
    return report(run_of(federation))


def renamed(value: Any) -> Any:
    """Return the same figures with every name that comes from outside replaced."""
    if isinstance(value, dict):
        return {
            key: EVIL if key in ("name", "site", "run", "task", "measured_on") else renamed(one)
            for key, one in value.items()
        }
    return [renamed(one) for one in value] if isinstance(value, list) else value


def several(figures: dict[str, Any]) -> dict[str, Any]:
    labels = [{"name": name, "answered": 5, "positive": 2} for name in ("low", "top")]
    return figures | {"labels": labels, "classes": []}


def in_rounds(figures: dict[str, Any]) -> dict[str, Any]:
    one = {"round": 1, "mechanism": "confident", "asked": 8, "answered": 7, "by_student": 1, "learned": 8}
    shares = {"epsilon_worst_case": 0.4, "accuracy": 0.5, "balanced_accuracy": 0.4, "auc": None, "map": 0.3}
    return figures | {"rounds": [one | shares], "pool": 10, "settings": {"seed": 1, "steps": None}}


def as_label_dp(figures: dict[str, Any]) -> dict[str, Any]:
    parties = [party | {"notion": "label-DP"} for party in figures["parties"]]
    return figures | {"notion": "label-DP", "adjacency": "label", "parties": parties}


@pytest.mark.heavy
@pytest.mark.parametrize("kind", [dict, several, in_rounds, renamed])
def test_the_page_loads_and_runs_nothing(figures: dict[str, Any], kind: Any) -> None:
    page = render(kind(figures))
    found = Tags(page)
    assert not {"script", "link", "iframe", "object", "form", "svg"} & found.tags
    assert found.attributes <= {"lang", "charset", "name", "content", "class", "alt", "src"}
    assert found.sources
    assert all(source.startswith("data:image/svg+xml;base64,") for source in found.sources)
    assert not re.search(r"url\(|@import", page)


@pytest.mark.heavy
def test_what_comes_from_outside_is_escaped(figures: dict[str, Any]) -> None:
    page = render(renamed(figures))
    assert EVIL not in page
    plots = [base64.b64decode(source.partition(",")[2]).decode() for source in Tags(page).sources]
    assert not any("<script" in plot for plot in plots)
    assert any("&lt;script&gt;" in plot for plot in plots)


@pytest.mark.heavy
@pytest.mark.parametrize(("kind", "notion"), [(dict, "DP for records"), (as_label_dp, "label-DP")])
@pytest.mark.parametrize("shown", [dict, in_rounds])
def test_every_cost_says_what_it_promises(
    figures: dict[str, Any], kind: Any, shown: Any, notion: str
) -> None:
    texts = Tags(render(shown(kind(figures)))).texts
    told = [text for text in texts if "epsilon" in text]
    assert len(told) >= 3
    assert all("worst-case" in text and notion in text for text in told)


@pytest.mark.heavy
def test_no_cost_promises_anything_where_ttac_trained(figures: dict[str, Any]) -> None:
    page = render(figures | {"notion": "no formal guarantee", "unguaranteed": ["b"]})
    assert "protects no record. No formal guarantee: teachers of b were trained by ttac" in page
    assert "DP for records" not in page


@pytest.mark.heavy
def test_figures_stand_on_the_page(figures: dict[str, Any]) -> None:
    text = " ".join(Tags(render(figures)).texts)
    epsilon = figures["parties"][0]["epsilon_worst_case"]
    for expected in ("8 of 8 queries were asked", f"{epsilon:.3f}", "ant", "supervised, logistic_regression"):
        assert expected in text
    assert text.count("Label by label") == 1
    assert all(sentence in text for sentence in verdict(figures["student"]))
    assert "Always saying 'ant', the most frequent class, is right on 33.3%" in text


def test_a_run_without_a_student_has_a_page(federation: Federation) -> None:
    run(federation, options(queries=4))
    page = render(report(run_of(federation)))
    assert "The student" not in page
    assert "What it cost" in page


@pytest.mark.heavy
def test_a_page_that_cannot_be_written_is_told(figures: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises(OstrakaError, match="Cannot write") as refused:
        write_page(figures, tmp_path / "none" / "report.html")
    assert refused.value.code is ErrorCode.CONFIG_INVALID


@pytest.mark.heavy
def test_a_student_of_another_pool_is_told(figures: dict[str, Any], federation: Federation) -> None:
    path = run_of(federation) / "student.json"
    path.write_text(path.read_text().replace(figures["student"]["pool_sha256"], "0" * 64))
    with pytest.raises(OstrakaError, match="another pool") as refused:
        report(run_of(federation))
    assert refused.value.code is ErrorCode.RUN_MISMATCH


@pytest.mark.heavy
def test_runs_that_dependencies_part_have_one_page(several: Federation) -> None:
    ask(several, queries=6)
    page = render(report(run_of(several)))
    assert "implied" in page
    assert "of all runs in this folder together" in page
