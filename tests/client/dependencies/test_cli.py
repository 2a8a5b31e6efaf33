"""`query dependencies`, and labels by them, as people type them."""

import json
from pathlib import Path

import pytest

from ostraka.client.run.dependency_rules import load_dependencies
from ostraka.common.errors import ErrorCode
from tests.client.cli.test_query import invoke, label, refused
from tests.client.dependencies.clinic import table, whole
from tests.client.driving import run_of
from tests.client.federation import Federation

ASKED = ("--mechanism", "binary:sigma=5", "--batch-size", 4)


@pytest.fixture
def own(several: Federation) -> Path:
    path = several.root / "own.csv"
    path.write_text("first,second,ant,bee,cat\n" + "0,0,1,0,0\n0.5,0.5,1,1,0\n1,1,1,1,1\n" * 30)
    return path


@pytest.mark.heavy
def test_dependencies_are_learned_and_used(several: Federation, own: Path) -> None:
    file = several.root / "deps.toml"
    learned = invoke("dependencies", "--site", several.site, "--labelled", own, "--out", file, "--json", "-")
    assert learned.exit_code == 0, learned.output
    figures = json.loads(learned.stdout)
    assert figures["confidence"] == [[None, None, None], [0, None, 1], [0, 0.5, None]]
    assert load_dependencies(file).families == {("bee", 0): ("cat",)}
    assert "1 of 3 labels depend on another" in learned.stderr

    labelled = label(several, *ASKED, "--dependencies", file, "--json", "-")
    assert labelled.exit_code == 0, labelled.output
    assert json.loads(labelled.stdout)["implied"] == 4
    assert "4 labels were not asked" in labelled.stderr
    assert table(several) == [whole(row) for row in range(10)]

    files = ("--labelled", own, "--run", run_of(several), "--pool", several.pool, "--test", own)
    trained = invoke("retrain", "--site", several.site, *files, "--json", "-")
    assert trained.exit_code == 0, trained.output
    assert json.loads(trained.stdout)["released"] == 10
    reported = invoke("report", "--run", run_of(several), "--json", "-")
    assert json.loads(reported.stdout)["student"]["released"] == 10


def test_no_file_is_written_where_nothing_depends_on_anything(several: Federation, own: Path) -> None:
    file = several.root / "deps.toml"
    result = invoke(
        "dependencies", "--site", several.site, "--labelled", own, "--out", file, "--support", 1000
    )
    assert refused(result).code is ErrorCode.DATA_TOO_FEW
    assert not file.exists()


def test_chosen_labels_are_asked_alone(several: Federation) -> None:
    settings = several.root / "some.toml"
    settings.write_text('labels = "bee, ant"\n')
    result = label(several, *ASKED, "--settings", settings)
    assert result.exit_code == 0, result.output
    assert [row[3] for row in table(several)] == [""] * 10
    reported = invoke("report", "--run", run_of(several))
    assert "Asked about ant, bee alone." in reported.output


def test_dependencies_say_themselves_which_labels_are_asked(several: Federation, own: Path) -> None:
    file = several.root / "deps.toml"
    invoke("dependencies", "--site", several.site, "--labelled", own, "--out", file)
    settings = several.root / "some.toml"
    settings.write_text('labels = "bee"\n')
    result = label(several, *ASKED, "--dependencies", file, "--settings", settings)
    error = refused(result)
    assert (error.code, "leave out labels" in error.message) == (ErrorCode.PLAN_INVALID, True)
    assert not run_of(several).exists()
