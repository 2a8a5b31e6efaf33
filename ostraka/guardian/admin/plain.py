"""Messages as plain values, for JSON."""

from typing import Any

from google.protobuf.message import Message

from ostraka.common.privacy.guarantees import NOTIONS


def plain(message: Message) -> dict[str, Any]:
    """Every field of a message by name: numbers as numbers, bytes as hex, messages as objects.

    What names an adjacency also says what its epsilons promise, as `notion`.
    """
    values = {field.name: _plain(getattr(message, field.name)) for field in message.DESCRIPTOR.fields}
    if values.get("adjacency") in NOTIONS:
        values["notion"] = NOTIONS[values["adjacency"]]
    return values


def _plain(value: Any) -> Any:
    if isinstance(value, Message):
        return plain(value)
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, str | int | float):
        return value
    return [_plain(item) for item in value]
