"""What the workflows of .github say of the repository holds; `make lint` checks them as workflows."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from ostraka.deploy.images import locks
from tests.style import ROOT

FOLDER = ROOT / ".github" / "workflows"
WORKFLOWS = {path.stem: path for path in sorted(FOLDER.glob("*.yml"))}


def jobs(name: str) -> dict[str, Any]:
    """Return the jobs of a workflow by name."""
    found: dict[str, Any] = yaml.safe_load(WORKFLOWS[name].read_text(encoding="utf-8"))["jobs"]
    return found


def commands(name: str) -> Iterator[str]:
    for job in jobs(name).values():
        yield from (step["run"] for step in job["steps"] if "run" in step)


@pytest.mark.parametrize("name", WORKFLOWS)
def test_a_job_waits_for_jobs_that_there_are(name: str) -> None:
    known = jobs(name)
    needed = [job.get("needs", []) for job in known.values()]
    assert {one for names in needed for one in ([names] if isinstance(names, str) else names)} <= known.keys()


@pytest.mark.parametrize("name", WORKFLOWS)
def test_targets_of_make_and_scripts_exist(name: str) -> None:
    text = "\n".join(commands(name))
    targets = set(re.findall(r"^\s*make (\S+)", text, re.MULTILINE))
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert targets <= set(re.findall(r"^([\w-]+):", makefile, re.MULTILINE))
    assert all((ROOT / script).is_file() for script in re.findall(r"bash (\S+)", text))


def test_every_image_is_released_with_its_bill_of_materials() -> None:
    entries = jobs("release")["images"]["strategy"]["matrix"]["include"]
    assert [entry["role"] for entry in entries] == list(locks.ROLES)
    written = {Path(lock).with_suffix(".cdx.json").name for lock in locks.files()}
    assert {entry["bill"] for entry in entries} <= written


def test_images_are_built_of_the_file_that_there_is() -> None:
    text = "\n".join(commands("release"))
    (dockerfile,) = re.findall(r"--file (\S+)", text)
    stages = re.findall(r"^FROM \S+ AS (\S+)", (ROOT / dockerfile).read_text(encoding="utf-8"), re.MULTILINE)
    assert set(locks.ROLES) <= set(stages)


def test_what_a_tag_starts_is_a_release_of_that_version() -> None:
    """`make release` refuses another; it takes its tag by the same pattern."""
    started = yaml.safe_load(WORKFLOWS["release"].read_text(encoding="utf-8"))[True]["push"]["tags"]
    source = (ROOT / "ostraka" / "deploy" / "release" / "commit.py").read_text(encoding="utf-8")
    assert [f'"{pattern}"' in source for pattern in started] == [True]


def test_every_action_is_named_by_its_hash() -> None:
    used = [
        step["uses"]
        for name in WORKFLOWS
        for job in jobs(name).values()
        for step in job["steps"]
        if "uses" in step
    ]
    assert used
    assert [one for one in used if not re.fullmatch(r"[\w/-]+@[0-9a-f]{40}", one)] == []
