"""Options of all plans, and of the mechanism that is planned, also as words of a command line."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from pydantic import BaseModel

from ostraka.common.console.options import SettingsKey, mark
from ostraka.common.console.texts import GRAMMAR
from ostraka.common.errors import ErrorCode, OstrakaError

if TYPE_CHECKING:
    from ostraka.common.mechanism import Mechanism

Plot = Annotated[
    Path | None, typer.Option("--plot", help="Plot epsilon against queries into this file, .png or .svg.")
]
Json = Annotated[str | None, typer.Option("--json", help="Write the result as JSON here; - is stdout.")]


def complete_mechanism(incomplete: str) -> list[str]:
    """Return the mechanisms whose names begin so; nothing that is installed is imported."""
    from ostraka.common.mechanism import mechanism_names

    return [name for name in mechanism_names() if name.startswith(incomplete)]


MechanismText = Annotated[
    str,
    typer.Option(
        "--mechanism",
        metavar=GRAMMAR,
        help="How votes become labels, such as gnmax:sigma=40; `ostraka mechanisms` lists all.",
        autocompletion=complete_mechanism,
    ),
]
"""A mechanism, as `read_mechanism` reads it."""
SearchedMechanism = Annotated[
    str | None,
    typer.Option(
        "--mechanism",
        metavar=GRAMMAR,
        help="How votes become labels, such as gnmax:sigma=40; `ostraka mechanisms` lists all. "
        "With --search: a name without parameters; default: all mechanisms.",
        autocompletion=complete_mechanism,
    ),
]
"""The same, which a search can find."""


def kind_to_search(text: str | None) -> str | None:
    """Return the one mechanism that a search is limited to, if it is.

    Raises `config.invalid` for a parameter of it, which a search is to find.
    """
    from ostraka.common.mechanism.arguments import split_mechanism

    if text is None:
        return None
    kind, parameters = split_mechanism(text)
    for name in parameters:
        raise OstrakaError(
            ErrorCode.CONFIG_INVALID, f"A search chooses {name} itself: give --mechanism {kind} without it."
        )
    return kind


def missing_mechanism() -> OstrakaError:
    """Return the error for a plan without a mechanism."""
    return OstrakaError(
        ErrorCode.CONFIG_INVALID, "No mechanism is named: give --mechanism, or find one with --search."
    )


def mechanism_words(mechanism: "Mechanism") -> list[str]:
    """Return the option by which a command line makes this mechanism."""
    from ostraka.common.mechanism.arguments import mechanism_text

    return ["--mechanism", mechanism_text(mechanism)]


def option_words(options: BaseModel) -> list[str]:
    """Return the options of a command line that differ from their defaults, keys of settings files aside."""
    words: list[str] = []
    for name, field in type(options).model_fields.items():
        value = getattr(options, name)
        if value == field.default or mark(field, SettingsKey):
            continue
        option = f"--{name.replace('_', '-')}"
        words += [option] if value is True else [option, _word(value)]
    return words


def _word(value: object) -> str:
    return ",".join(map(str, value)) if isinstance(value, tuple) else str(value)
