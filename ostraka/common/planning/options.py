"""Options of all plans and of the planned mechanism, and their text for command lines."""

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
    """Return the mechanisms whose names begin like this; installed packages are not imported."""
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
"""A mechanism, in the form that `read_mechanism` reads."""
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
"""A mechanism that a search can find."""


def kind_to_search(text: str | None) -> str | None:
    """Return the name of the mechanism to which a search is limited, or None.

    Raises `config.invalid` for a parameter of the mechanism, because the search finds the parameters.
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
    """Return the command-line option for this mechanism."""
    from ostraka.common.mechanism.arguments import mechanism_text

    return ["--mechanism", mechanism_text(mechanism)]


def option_words(options: BaseModel) -> list[str]:
    """Return the command-line options that differ from their defaults, without keys of settings files."""
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
