"""Mechanisms as text on command lines and in settings: `confident:sigma1=150,sigma2=40,threshold=200`."""

from collections.abc import Iterator, Mapping
from typing import Any, cast, get_args

from pydantic.fields import FieldInfo

from ostraka.common.console.texts import GRAMMAR
from ostraka.common.errors import OstrakaError
from ostraka.common.mechanism import (
    Mechanism,
    RecordSums,
    Value,
    invalid_plan,
    known_mechanism,
    mechanism_names,
)
from ostraka.common.mechanism.mechanism import INVALID_PLAN
from ostraka.common.validation import did_you_mean


def read_mechanism(text: str) -> Mechanism:
    """Return the mechanism for a text such as `gnmax:sigma=40`.

    Raises `plan.invalid` as in `split_mechanism` and `make_mechanism`.
    """
    kind, parameters = split_mechanism(text)
    return make_mechanism(kind, **parameters)


def split_mechanism(text: str) -> tuple[str, dict[str, str]]:
    """Return the name and the parameters in a text, before they are validated.

    Raises `plan.invalid` for a text of another form, and for a parameter that is given twice.
    """
    kind, colon, rest = text.strip().partition(":")
    parameters: dict[str, str] = {}
    for part in rest.split(",") if colon else ():
        name, _, value = (piece.strip() for piece in part.partition("="))
        if not (kind and name and value):
            raise invalid_plan(f"mechanism {text!r} is not of the form {GRAMMAR}, such as gnmax:sigma=40")
        if name in parameters:
            raise invalid_plan(f"mechanism {text!r} gives {name} twice; give it once")
        parameters[name] = value
    return kind, parameters


def mechanism_text(mechanism: Mechanism) -> str:
    """Return the text from which `read_mechanism` makes this mechanism, exact to the last digit."""
    given = [f"{name}={_digits(value)}" for name, value in parameters_of(mechanism).items()]
    return f"{mechanism.kind}:{','.join(given)}" if given else mechanism.kind


def make_mechanism(kind: str, /, **parameters: object) -> Mechanism:
    """Make the mechanism of this name with these parameters; None means that a parameter is not given.

    Parameters have the names of the fields of the mechanism's class, which validates them; numbers may be
    given as text. The parameters of a nested field, such as a check, are written with a dot: `check.sigma`.

    Raises `plan.invalid` for an unknown name or parameter, a missing one, and a refused value.
    """
    return _make(labelling_mechanism(kind), parameters)


def read_sums(text: str) -> RecordSums | None:
    """Return the sums for a text such as `gradients:parameters=650`; None for another mechanism's name.

    A sigma that is not given is 1: a plan only needs the ratio of the blocks' noise. Raises `plan.invalid` as
    in `split_mechanism` and `make_mechanism`.
    """
    kind, parameters = split_mechanism(text)
    known = known_mechanism(kind)
    if known is None or not issubclass(known, RecordSums):
        return None
    return cast(RecordSums, _make(known, {"sigma": "1"} | parameters))


def _make(known: type[Mechanism], parameters: Mapping[str, object]) -> Mechanism:
    kind = known.model_fields["kind"].default
    given = {name: value for name, value in parameters.items() if value is not None}
    needed, optional = parameter_names(known)
    takes = f"mechanism {kind} takes {', '.join([*needed, *(f'[{name}]' for name in optional)]) or 'nothing'}"
    for name in given:
        if name not in (*needed, *optional):
            raise invalid_plan(f"{takes}; there is no {name}{did_you_mean(name, (*needed, *optional))}")
    for name in needed:
        if name not in given:
            example = ",".join(f"{one}=VALUE" for one in needed)
            raise invalid_plan(f"{takes}; give {name}, as in {kind}:{example}")
    return known.model_validate(dict(_field_values(known, given)), strict=False)


def labelling_mechanism(kind: str) -> type[Mechanism]:
    """Return the class of a mechanism that labels queries; raise `plan.invalid` if there is none."""
    known = known_mechanism(kind)
    if known is None or not known.labels_queries:
        choices = mechanism_names()
        raise invalid_plan(
            f"there is no mechanism {kind} that labels queries{did_you_mean(kind, choices)}; for --mechanism "
            f"choose one of {', '.join(choices)}"
        )
    return known


def parameters_of(mechanism: Mechanism) -> dict[str, Any]:
    """Return the parameters from which `make_mechanism` makes this mechanism."""
    found: dict[str, Any] = {}
    for name in _fields(type(mechanism)):
        value = getattr(mechanism, name)
        if isinstance(value, Value):
            found |= {f"{name}.{part}": getattr(value, part) for part in type(value).model_fields}
        elif value is not None:
            found[name] = value
    return found


def parameter_names(known: type[Mechanism]) -> tuple[list[str], list[str]]:
    """Return the names of a mechanism's required parameters, and of its optional ones."""
    fields = parameter_fields(known)
    optional_fields = {name for name, field in _fields(known).items() if not field.is_required()}
    # Parts of an optional field are optional, even if the part's own class requires them.
    optional = [
        name
        for name, field in fields.items()
        if not field.is_required() or name.partition(".")[0] in optional_fields
    ]
    return [name for name in fields if name not in optional], optional


def parameter_fields(known: type[Mechanism]) -> dict[str, FieldInfo]:
    """Return the fields of a mechanism's class by the names of its parameters."""
    found: dict[str, FieldInfo] = {}
    for name, field in _fields(known).items():
        nested = _inner_class(field)
        if nested is None:
            found[name] = field
        else:
            found |= {f"{name}.{part}": inner for part, inner in nested.model_fields.items()}
    return found


def _fields(known: type[Mechanism]) -> dict[str, FieldInfo]:
    """Return the fields of a mechanism's class without `kind`, which stands before the colon."""
    return {name: field for name, field in known.model_fields.items() if name != "kind"}


def _inner_class(field: FieldInfo) -> type[Value] | None:
    """Return the class of a field that has parameters of its own, or None."""
    kinds = (field.annotation, *get_args(field.annotation))
    return next((kind for kind in kinds if isinstance(kind, type) and issubclass(kind, Value)), None)


def _field_values(known: type[Mechanism], given: Mapping[str, object]) -> Iterator[tuple[str, object]]:
    """Yield the values of a class's fields; parameters with a dot are combined into one value."""
    for name, field in _fields(known).items():
        nested = _inner_class(field)
        if nested is None:
            if name in given:
                yield name, given[name]
            continue
        parts = {part: given[f"{name}.{part}"] for part in nested.model_fields if f"{name}.{part}" in given}
        if parts:
            yield name, _part(name, nested, parts)


def _part(name: str, nested: type[Value], parts: Mapping[str, object]) -> Value:
    """Return the value of a nested field; all its required parameters must be given."""
    for part, field in nested.model_fields.items():
        if field.is_required() and part not in parts:
            whole = " and ".join(f"{name}.{one}" for one in nested.model_fields)
            raise invalid_plan(f"a {name} takes {whole}; give {name}.{part} as well")
    try:
        return nested.model_validate(parts, strict=False)
    except OstrakaError as error:
        raise invalid_plan(f"{name}.{error.message.removeprefix(INVALID_PLAN).rstrip('.')}") from error


def _digits(value: object) -> str:
    """Return a value as text, exact and as short as possible."""
    if not isinstance(value, float):
        return str(value)
    return f"{value:g}" if float(f"{value:g}") == value else f"{value:.17g}"
