"""A mechanism, or options of a model, as the words of a command line."""

from collections.abc import Iterator, Mapping

from pydantic import BaseModel

from ostraka.common.mechanism import Check, Mechanism
from ostraka.common.mechanism.arguments import CHECK, option_name


def mechanism_words(mechanism: Mechanism) -> list[str]:
    """Return the options from which a command line makes this mechanism."""
    words = ["--mechanism", mechanism.kind]
    for name, value in _parameters(mechanism).items():
        words += [option_name(name), f"{value:.17g}" if float(f"{value:g}") != value else f"{value:g}"]
    return words


def option_words(options: BaseModel) -> list[str]:
    """Return the options of a command line that differ from their defaults."""
    words: list[str] = []
    for name, field in type(options).model_fields.items():
        value = getattr(options, name)
        if value == field.default:
            continue
        option = option_name(name)
        words += [option] if value is True else [option, _said(value)]
    return words


def _parameters(mechanism: Mechanism) -> Mapping[str, float]:
    return dict(_named(mechanism))


def _named(mechanism: Mechanism) -> Iterator[tuple[str, float]]:
    for name in type(mechanism).model_fields:
        value = getattr(mechanism, name)
        if isinstance(value, Check):
            yield from ((option, getattr(value, field)) for option, field in CHECK.items())
        elif name != "kind" and value is not None:
            yield name, value


def _said(value: object) -> str:
    return ",".join(map(str, value)) if isinstance(value, tuple) else str(value)
