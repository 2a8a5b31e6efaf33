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
    """A parameter of a mechanism; one that is not `required` may be left out, even without a default."""

    name: str
    meaning: str
    required: bool
    default: str | float | None = None


class ListedMechanism(FrozenModel):
    """The description of a mechanism, or the `problem` of the package that should provide it."""

    name: str
    releases: Literal["labels", "sums"] = "labels"
    meaning: str = ""
    charged_as: str = ""
    parameters: tuple[ListedParameter, ...] = ()
    problem: str | None = None


def list_mechanisms() -> Iterator[ListedMechanism]:
    """Yield the mechanisms that a querying party may ask for; imports installed packages.

    Mechanisms that label queries come first, Ostraka's own before those of packages, then those that release
    sums over records. Joint trainings are left out, because parties ask for them.
    """
    sums = (kind for kind, known in MECHANISMS.items() if known.sums_records)
    for name in (*mechanism_names(), *sums):
        try:
            known = known_mechanism(name)
        except OstrakaError as error:
            # A broken package is reported in its place, so that the other mechanisms are still listed.
            yield ListedMechanism(name=name, problem=error.message)
            continue
        if known is not None and (known.labels_queries or known.sums_records):
            yield describe(name, known)


def describe(name: str, known: type[Mechanism]) -> ListedMechanism:
    """Describe a mechanism's class: the first paragraph of its docstring, its fields, `charged_as`."""
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
