"""Whatever is wrong in a file that people write, they are told in their words and not in a library's."""

import copy
import json
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from ostraka.client.dependencies.label_settings import load_label_settings
from ostraka.client.run.dependency_rules import load_dependencies
from ostraka.client.run.site import QuerySection
from ostraka.common.config import load_section, load_site
from ostraka.common.errors import OstrakaError
from ostraka.common.task import load_task
from ostraka.common.telemetry.registry import TelemetrySection
from ostraka.deploy.provisioning.federation_file import load_federation
from ostraka.deploy.simulation.settings_file import load_settings
from ostraka.guardian.ledger.site import LedgerSettings
from ostraka.guardian.policy import load_policy, parse_policy
from ostraka.services.admission.policy import PartyPolicy, PartySection
from ostraka.services.teachers.config import TrainingSection

FOREIGN = re.compile(
    r"Input should|should have|should be|Field required|validation error|Value error|Extra inputs"
    r"|[a-z]\.\d+(\.|:)|type=|unable to parse|pydantic|function-|tagged-union|constrained"
)
WRONG: tuple[Any, ...] = ("", "x\n", "x" * 300, -1, 0, 1.5, 2**62, True, [], ["", 1], {"k": 1}, [{}], "a*")
TASK = {
    "name": "t",
    "label": "y",
    "id": "pid",
    "ignore": ["notes"],
    "classes": ["a", "b"],
    "input": {
        "kind": "table",
        "preprocessing": "range",
        "columns": [
            {"name": "n", "dtype": "int32", "min": 0, "max": 9, "unit": "kg", "clip": True, "missing": 1},
            {"name": "c", "kind": "category", "values": ["p", "q"], "other": True, "missing": "other"},
            {"name": "b", "kind": "boolean", "missing": False},
            {"name": "d", "kind": "date", "min": "2020-01-01", "max": "2021-01-01", "format": "%Y"},
        ],
        "table": {"defaults": {"min": 0, "max": 1, "clip": True, "g*": {"min": 0}}},
    },
}
IMAGES = {
    "name": "t",
    "classes": ["a", "b"],
    "input": {"kind": "tensor", "shape": [2, 2], "dtype": "uint8", "range": [0, 255]},
}
SITE = {
    "federation": "f",
    "site": "a",
    "role": "party",
    "listen": "127.0.0.1:7001",
    "guardian": "127.0.0.1:7000",
    "guardian_site": "hub",
    "parties": {"b": "127.0.0.1:7002"},
}
FEDERATION = {
    "federation": "f",
    "guardian": {"site": "hub", "address": "hub.example:7000"},
    "party": [{"site": "a", "address": "a.example:7001"}],
    "query": [{"site": "q", "address": "q.example:7002"}],
}
POLICY = {"enforce": "worst_case", "min_parties": 2, "mechanisms": ["gnmax"], "consent": {"low": 1.0}}
TRAINING = {
    "data": "x.npz",
    "teachers": 4,
    "model": "mlp",
    "abstains": ["a"],
    "consent": {"low": 1.0},
    "variant": "none",
    "seed": 1,
}
RULES = {"task": "t", "dependencies": [{"parent": "a", "child": "b", "confidence": 0.9, "records": 9}]}
GROUPS = {"task": "t", "group": [{"labels": ["a"], "mechanism": "binary:sigma=3"}]}
SIMULATION = {"parties": 3, "teachers": 4, "queries": 9, "mechanism": "gnmax:sigma=4", "epsilon": 3.0}


def toml(value: Any) -> str:
    """Write a value as TOML has it in one line."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{json.dumps(key)} = {toml(one)}" for key, one in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(toml, value)) + "]"
    return json.dumps(value)


def places(value: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the place of every value in a file, the file itself excepted."""
    inner = (
        value.items() if isinstance(value, Mapping) else enumerate(value) if isinstance(value, list) else ()
    )
    for key, one in inner:
        yield (*at, key)
        yield from places(one, (*at, key))


def damaged(file: Mapping[str, Any]) -> Iterator[str]:
    """Yield a file with every wrong value in every place, without each key, and with one too many."""
    for place in places(file):
        for wrong in (*WRONG, None):
            changed: Any = copy.deepcopy(file)
            here = changed
            for key in place[:-1]:
                here = here[key]
            if wrong is None:
                del here[place[-1]]
            else:
                here[place[-1]] = wrong
            yield "\n".join(f"{key} = {toml(value)}" for key, value in changed.items())
    yield "\n".join(f"{key} = {toml(value)}" for key, value in {**file, "colour": 1}.items())


def of_site(model: Any, name: str) -> Callable[[Path], object]:
    return lambda folder: load_section(folder, name, model)


BOUNDARIES: dict[str, tuple[Mapping[str, Any], str, Callable[[Path], object]]] = {
    "task": (TASK, "task.toml", lambda folder: load_task(folder / "task.toml")),
    "task of arrays": (IMAGES, "task.toml", lambda folder: load_task(folder / "task.toml")),
    "site": (SITE, "site.toml", load_site),
    "party": (
        {"party": {"task": "t", "max_votes_per_person": 1}},
        "site.toml",
        of_site(PartySection, "party"),
    ),
    "party's policy": (
        {"policy": {"queriers": ["q"], "epsilon_cap": 1.0, "delta": 1e-5, "encodings": ["plain"]}},
        "site.toml",
        of_site(PartyPolicy, "policy"),
    ),
    "training": ({"training": TRAINING}, "site.toml", of_site(TrainingSection, "training")),
    "query": ({"query": {"encoder": "a:b"}}, "site.toml", of_site(QuerySection, "query")),
    "telemetry": (
        {"telemetry": {"metrics": "127.0.0.1:9"}},
        "site.toml",
        of_site(TelemetrySection, "telemetry"),
    ),
    "ledger": ({"ledger": {"url": "sqlite:///x"}}, "site.toml", of_site(LedgerSettings, "ledger")),
    "guardian's policy": ({"policy": POLICY}, "site.toml", load_policy),
    "policy's file": (
        POLICY,
        "p.toml",
        lambda folder: parse_policy((folder / "p.toml").read_text()),
    ),
    "federation": (FEDERATION, "f.toml", lambda folder: load_federation(folder / "f.toml")),
    "dependencies": (RULES, "d.toml", lambda folder: load_dependencies(folder / "d.toml")),
    "label settings": (GROUPS, "g.toml", lambda folder: load_label_settings(folder / "g.toml")),
    "simulation": (SIMULATION, "s.toml", lambda folder: load_settings(folder / "s.toml", {})),
}


def problem_of(read: Callable[[Path], object], folder: Path) -> str:
    """Return what a reader says of the folder's file, without where that is; nothing where it takes it."""
    try:
        read(folder)
    except OstrakaError as error:
        return error.message.replace(str(folder), "")
    return ""


HEAVY = ("task", "party's policy", "training", "federation", "site", "dependencies")
"""Those with most keys."""


@pytest.mark.parametrize(
    "boundary",
    [pytest.param(name, marks=pytest.mark.heavy) if name in HEAVY else name for name in BOUNDARIES],
)
def test_what_is_wrong_is_told_in_words_of_people(boundary: str, tmp_path: Path) -> None:
    file, name, read = BOUNDARIES[boundary]
    refused = 0
    for text in damaged(file):
        (tmp_path / name).write_text(text, encoding="utf-8")
        said = problem_of(read, tmp_path)
        refused += bool(said)
        assert not FOREIGN.search(said), text
    assert refused > len(WRONG)
