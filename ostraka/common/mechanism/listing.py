"""Descriptions of installed mechanisms: parameters, meaning, defaults, and costs."""

import inspect
from collections.abc import Iterator
from typing import Literal

from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from ostraka.common.errors import OstrakaError
from ostraka.common.mechanism import MECHANISMS, Mechanism, known_mechanism, mechanism_names
from ostraka.common.mechanism.arguments import parameter_fields, parameter_names
from ostraka.common.validation import FrozenModel


class ListedParameter(FrozenModel):
    """A parameter of a mechanism; one without a default that is not `required` may be left out."""

    name: str
    meaning: str
    required: bool
    default: str | float | None = None


class ListedMechanism(FrozenModel):
    """A mechanism in words, or the `problem` of the package that should have brought it."""

    name: str
    releases: Literal["labels", "sums"] = "labels"
    meaning: str = ""
    charged_as: str = ""
    parameters: tuple[ListedParameter, ...] = ()
    problem: str | None = None


def list_mechanisms() -> Iterator[ListedMechanism]:
    """Yield what a querying party may ask for; imports what packages installed.

    Those that label queries come first, Ostraka's own before others, then those that release sums over
    records. Trainings are for parties to ask for.
    """
    sums = (kind for kind, known in MECHANISMS.items() if known.sums_records)
    for name in (*mechanism_names(), *sums):
        try:
            known = known_mechanism(name)
        except OstrakaError as error:
            # A broken package is told in its place, so that it hides no other.
            yield ListedMechanism(name=name, problem=error.message)
            continue
        if known is not None and (known.labels_queries or known.sums_records):
            yield describe(name, known)


def describe(name: str, known: type[Mechanism]) -> ListedMechanism:
    """Return what a mechanism's class says: its docstring's first paragraph, its fields, `charged_as`."""
    text = inspect.cleandoc(known.__doc__ or "").partition("\n\n")[0]
    needed, _ = parameter_names(known)
    parameters = tuple(
        ListedParameter(
            name=parameter,
            meaning=field.description or "",
            required=parameter in needed,
            default=_default(field),
        )
        for parameter, field in parameter_fields(known).items()
    )
    return ListedMechanism(
        name=name,
        releases="labels" if known.labels_queries else "sums",
        meaning=" ".join(text.split()),
        charged_as=known.charged_as,
        parameters=parameters,
    )


def _default(field: FieldInfo) -> str | float | None:
    value = field.get_default(call_default_factory=True, validated_data={})
    if value is PydanticUndefined or value is None:
        return None
    return value if isinstance(value, int | float) else str(value)
