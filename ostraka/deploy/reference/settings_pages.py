"""Pages of every key of site.toml, federation.toml and a simulation's file, generated from their models."""

import inspect
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import griffe
from pydantic import BaseModel

from ostraka.client.run.site import QuerySection
from ostraka.common.config import SiteConfig
from ostraka.common.relay.section import RelaySection
from ostraka.common.telemetry.registry import TelemetrySection
from ostraka.deploy.provisioning.federation_file import (
    AdminEntry,
    FederationFile,
    GuardianEntry,
    PartyEntry,
    QueryEntry,
    RelayEntry,
)
from ostraka.deploy.reference.markdown import cell, table
from ostraka.deploy.simulation.settings_parts import (
    BudgetSettings,
    PlanSettings,
    RecordSettings,
    StudentSettings,
    TeacherSettings,
)
from ostraka.guardian.ledger.site import LedgerSettings
from ostraka.guardian.policy import Policy
from ostraka.relay.section import RelayServerSection
from ostraka.services.admission.policy import PartyPolicy, PartySection
from ostraka.services.teachers.config import TrainingSection


def key_texts(model: type[BaseModel]) -> dict[str, str]:
    """Return the description of each key: of its field, the string after it, or `Attributes` of its class."""
    bases = [
        base for base in reversed(model.__mro__) if base is not BaseModel and issubclass(base, BaseModel)
    ]
    said = dict(pair for base in bases for pair in _texts_of_class(base))
    fields = {key: field.description for key, field in model.model_fields.items() if field.description}
    return said | fields


def _texts_of_class(model: type[BaseModel]) -> Iterator[tuple[str, str]]:
    """Yield keys and their descriptions in the source of one class."""
    path = Path(inspect.getfile(model))
    module = griffe.visit(path.stem, filepath=path, code=path.read_text(encoding="utf-8"))
    found = module[model.__name__]
    for section in found.docstring.parse("google") if found.docstring else ():
        if section.kind is griffe.DocstringSectionKind.attributes:
            yield from ((attribute.name, attribute.description) for attribute in section.value)
    for name, member in found.members.items():
        if member.is_attribute and member.docstring:
            yield name, member.docstring.value


Schema = Mapping[str, Any]
_WORDS = {
    "string": "text",
    "integer": "integer",
    "number": "number",
    "boolean": "true or false",
    "object": "table",
}
_BOUNDS = (("minimum", ">="), ("exclusiveMinimum", ">"), ("maximum", "<="), ("exclusiveMaximum", "<"))


def type_text(described: Schema, whole: Schema) -> str:
    """Return the type of a key in words, with its bounds; `whole` is the schema with the definitions."""
    if "$ref" in described:
        return type_text(whole["$defs"][described["$ref"].rpartition("/")[2]], whole)
    if "anyOf" in described:
        choices = [choice for choice in described["anyOf"] if choice.get("type") != "null"]
        return " or ".join(type_text(choice, whole) for choice in choices)
    if "const" in described:
        return value_text(described["const"])
    if "enum" in described:
        return ", ".join(f"`{value_text(value)}`" for value in described["enum"])
    if described.get("type") == "array":
        return f"list of {type_text(described['items'], whole)}"
    for values in (*described.get("patternProperties", {}).values(), described.get("additionalProperties")):
        if isinstance(values, Mapping):
            return f"table of {type_text(values, whole)}"
    bounds = [f"{sign} {_number(described[name])}" for name, sign in _BOUNDS if name in described]
    return ", ".join([_WORDS[described["type"]], *bounds])


def _number(value: float) -> str:
    return f"{value:,.0f}" if value == int(value) else f"{value:g}"


def value_text(value: Any) -> str:
    """Return a default in TOML's notation; `none` if leaving the key out means something else."""
    return "none" if value is None else json.dumps(value)


@dataclass(frozen=True)
class Section:
    """A table of a TOML file: its heading, its introduction, and the model that reads it."""

    heading: str
    introduction: str
    model: type[BaseModel]


SITE = (
    Section(
        "The site itself",
        "Keys before the first table. `ostraka provision` writes them; `[parties]` is a table of its own.",
        SiteConfig,
    ),
    Section(
        "[policy] of a guardian",
        "Limits on every session. The file for `ostraka guardian policy apply` has the same keys without "
        "the heading; once applied, it replaces this table.",
        Policy,
    ),
    Section("[ledger] of a guardian", "Where the ledger is kept.", LedgerSettings),
    Section("[party] of an answering party", "What the party votes with.", PartySection),
    Section(
        "[policy] of an answering party",
        "What the party answers, within what the guardian's policy allows.",
        PartyPolicy,
    ),
    Section(
        "[training] of an answering party", "How `ostraka party train` trains its teachers.", TrainingSection
    ),
    Section("[query] of a querying party", "How the querying party prepares its records.", QuerySection),
    Section(
        "[relay] of a site that attaches",
        "The relay through which the site is reached ([relay](../relay.md)).",
        RelaySection,
    ),
    Section(
        "[relay] of a relay",
        "The certificate that the relay shows, and the guardians that sites may call through it.",
        RelayServerSection,
    ),
    Section("[telemetry] of every site", "What the site reports to Prometheus.", TelemetrySection),
)
FEDERATION = (
    Section("The federation", "Keys before the first table, and the tables.", FederationFile),
    Section("[guardian]", "", GuardianEntry),
    Section("[[admin]]", "", AdminEntry),
    Section("[[relay]]", "", RelayEntry),
    Section("[[party]]", "", PartyEntry),
    Section("[[query]]", "", QueryEntry),
)
SIMULATION = (
    Section("Records", "The records, and which site holds them.", RecordSettings),
    Section("The plan", "What the querying party asks for, and how it asks.", PlanSettings),
    Section("Budgets", "What every party may spend, and how it is charged.", BudgetSettings),
    Section("Teachers", "Models of the parties, and joint training.", TeacherSettings),
    Section("Students", "Which student learns from which labels.", StudentSettings),
)
_SITE = """\
# site.toml and policies

Every key of `site.toml`, which lies in every site's folder. Unknown keys are refused, and so are values out
of range, with a sentence that names the key. `ostraka site check` reads the whole file before anything is
served. Paths are relative to the folder.
"""
_FEDERATION = """\
# federation.toml

Every key of the file from which `ostraka provision` makes kits ([provisioning](../provisioning.md)).
"""
_SIMULATION = """\
# Files of a simulation

Every key of the file that `ostraka simulate --config` takes. Each key is an option too, with `-` in place of
`_`; the option overrides the file ([simulation](../simulation.md)).
"""
_HEADS: Mapping[str, tuple[str, tuple[Section, ...]]] = {
    "site.md": (_SITE, SITE),
    "federation.md": (_FEDERATION, FEDERATION),
    "simulation-file.md": (_SIMULATION, SIMULATION),
}


def pages() -> dict[str, str]:
    """Return pages as Markdown, by file name."""
    return {
        name: "\n".join([head, *(_section(section) for section in sections)])
        for name, (head, sections) in _HEADS.items()
    }


def _section(section: Section) -> str:
    rows = table(("key", "type", "default", "what it says"), _rows(section.model))
    return f"## {section.heading}\n\n{section.introduction}\n\n{rows}"


def _rows(model: type[BaseModel]) -> Iterator[tuple[str, str, str, str]]:
    schema = model.model_json_schema()
    texts = key_texts(model)
    for key, field in model.model_fields.items():
        if field.exclude:
            continue
        described = schema["properties"][key]
        default = "required" if field.is_required() else f"`{value_text(described.get('default'))}`"
        text = texts.get(key, "")
        yield f"`{key}`", cell(type_text(described, schema)), default, cell(text[:1].upper() + text[1:])
