"""What is said of the keys of a pydantic model, wherever its code says it."""

import inspect
from collections.abc import Iterator
from pathlib import Path

import griffe
from pydantic import BaseModel


def key_texts(model: type[BaseModel]) -> dict[str, str]:
    """Return what is said of each key: by its field, the string after it, or `Attributes` of its class."""
    bases = [
        base for base in reversed(model.__mro__) if base is not BaseModel and issubclass(base, BaseModel)
    ]
    said = dict(pair for base in bases for pair in _documented(base))
    fields = {key: field.description for key, field in model.model_fields.items() if field.description}
    return said | fields


def _documented(model: type[BaseModel]) -> Iterator[tuple[str, str]]:
    """Yield keys and what the source of one class says of them."""
    path = Path(inspect.getfile(model))
    module = griffe.visit(path.stem, filepath=path, code=path.read_text(encoding="utf-8"))
    found = module[model.__name__]
    for section in found.docstring.parse("google") if found.docstring else ():
        if section.kind is griffe.DocstringSectionKind.attributes:
            yield from ((attribute.name, attribute.description) for attribute in section.value)
    for name, member in found.members.items():
        if member.is_attribute and member.docstring:
            yield name, member.docstring.value
