"""Pages of every key of site.toml, federation.toml and a simulation's file, made from their models."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from pydantic import BaseModel

from ostraka.client.run.encoding import QuerySection
from ostraka.common.config import SiteConfig
from ostraka.common.telemetry.registry import TelemetrySection
from ostraka.deploy.provisioning.federation_file import (
    AdminEntry,
    FederationFile,
    GuardianEntry,
    PartyEntry,
    QueryEntry,
)
from ostraka.deploy.reference.json_types import type_text, value_text
from ostraka.deploy.reference.key_texts import key_texts
from ostraka.deploy.reference.tables import cell, table
from ostraka.deploy.simulation.settings import Settings
from ostraka.guardian.ledger.site import LedgerSettings
from ostraka.guardian.policy import Policy
from ostraka.services.admission.policy import PartyPolicy, PartySection
from ostraka.services.teachers.config import TrainingSection


@dataclass(frozen=True)
class Section:
    """A table of a TOML file: its heading, what is said of it, and the model that reads it."""

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
        "Limits on every session. The file that `ostraka guardian policy apply` takes has the same keys "
        "without the heading, and stands in place of this table once it was applied.",
        Policy,
    ),
    Section("[ledger] of a guardian", "Where its books are.", LedgerSettings),
    Section("[party] of an answering party", "What it votes with.", PartySection),
    Section(
        "[policy] of an answering party",
        "What it answers, besides what the guardian's policy allows.",
        PartyPolicy,
    ),
    Section(
        "[training] of an answering party", "How `ostraka party train` trains its teachers.", TrainingSection
    ),
    Section("[query] of a querying party", "How its records are prepared.", QuerySection),
    Section("[telemetry] of every site", "What it tells Prometheus.", TelemetrySection),
)
FEDERATION = (
    Section("The federation", "Keys before the first table, and the tables.", FederationFile),
    Section("[guardian]", "", GuardianEntry),
    Section("[[admin]]", "", AdminEntry),
    Section("[[party]]", "", PartyEntry),
    Section("[[query]]", "", QueryEntry),
)
SIMULATION = (Section("Keys", "", Settings),)
_SITE = """\
# site.toml and policies

Every key of `site.toml`, which lies in every site's folder. Unknown keys are refused, and so are values out
of range, with a sentence that names the key. `ostraka site check` reads the whole file before anything is
served. Paths are relative to the folder.
"""
_FEDERATION = """\
# federation.toml

What `ostraka provision` makes kits from ([provisioning](../provisioning.md)).
"""
_SIMULATION = """\
# Files of a simulation

Every key of the file that `ostraka simulate --config` takes. With `-` in place of `_` they are options, too,
which win over the file ([simulation](../simulation.md)).
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
    schema, texts = model.model_json_schema(), key_texts(model)
    for key, field in model.model_fields.items():
        if field.exclude:
            continue
        described = schema["properties"][key]
        default = "required" if field.is_required() else f"`{value_text(described.get('default'))}`"
        yield f"`{key}`", cell(type_text(described, schema)), default, cell(_sentence(texts.get(key, "")))


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]
