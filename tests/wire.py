"""The wire protocol as text: a line for each message, field, value and call; `python -m` writes `wire.txt`.

Lines are only ever added, because members with older versions still send and read the older messages.
"""

import sys
from collections.abc import Iterable, Iterator, Sequence
from importlib import import_module
from pathlib import Path

from google.protobuf.descriptor_pb2 import (
    DescriptorProto,
    EnumDescriptorProto,
    FieldDescriptorProto,
    FileDescriptorProto,
    ServiceDescriptorProto,
)

import ostraka.protos.ostraka.v1 as stubs

FILE = Path(__file__).with_suffix(".txt")


def files() -> Iterator[FileDescriptorProto]:
    """Yield the definitions of the protocol from the committed stubs."""
    for path in sorted(Path(stubs.__path__[0]).glob("*_pb2.py")):
        found = FileDescriptorProto()
        import_module(f"{stubs.__name__}.{path.stem}").DESCRIPTOR.CopyToProto(found)
        yield found


def listing(definitions: Iterable[FileDescriptorProto]) -> list[str]:
    """Return the lines of all definitions, in alphabetical order."""
    return sorted(line for file in definitions for line in _file(file))


def lost(before: Sequence[str], after: Sequence[str]) -> list[str]:
    """Return what older versions send or expect and newer ones no longer know."""
    return sorted(set(before) - set(after))


def _file(file: FileDescriptorProto) -> Iterator[str]:
    for message in file.message_type:
        yield from _message(f"{file.package}.{message.name}", message)
    for enum in file.enum_type:
        yield from _enum(f"{file.package}.{enum.name}", enum)
    for service in file.service:
        yield from _service(f"{file.package}.{service.name}", service)
    for extension in file.extension:
        yield f"{file.package}.{_field(extension, ())} of {extension.extendee.removeprefix('.')}"


def _message(name: str, message: DescriptorProto) -> Iterator[str]:
    yield f"{name} message"
    oneofs = [oneof.name for oneof in message.oneof_decl]
    for field in message.field:
        yield f"{name}.{_field(field, oneofs)}"
    for numbers in message.reserved_range:
        yield from (f"{name} reserved {number}" for number in range(numbers.start, numbers.end))
    for inner in message.nested_type:
        yield from _message(f"{name}.{inner.name}", inner)
    for enum in message.enum_type:
        yield from _enum(f"{name}.{enum.name}", enum)


def _field(field: FieldDescriptorProto, oneofs: Sequence[str]) -> str:
    """Return a field's name and number, and everything that decides how its bytes are read."""
    words = [f"{field.name} = {field.number}:"]
    if field.label == FieldDescriptorProto.LABEL_REPEATED:
        words.append("repeated")
    if field.proto3_optional:
        words.append("optional")
    elif field.HasField("oneof_index"):
        words.append(f"oneof {oneofs[field.oneof_index]}")
    kind = FieldDescriptorProto.Type.Name(field.type).removeprefix("TYPE_").lower()
    words.append(field.type_name.removeprefix(".") or kind)
    return " ".join(words)


def _enum(name: str, enum: EnumDescriptorProto) -> Iterator[str]:
    return (f"{name}.{value.name} = {value.number}" for value in enum.value)


def _service(name: str, service: ServiceDescriptorProto) -> Iterator[str]:
    for method in service.method:
        asked = _streamed(method.input_type, method.client_streaming)
        answered = _streamed(method.output_type, method.server_streaming)
        yield f"{name}/{method.name}({asked}) returns ({answered})"


def _streamed(kind: str, streams: bool) -> str:
    return f"{'stream ' if streams else ''}{kind.removeprefix('.')}"


def main() -> int:
    """Write the lines, unless one would be lost; return the exit status."""
    now = listing(files())
    gone = lost(FILE.read_text(encoding="utf-8").splitlines() if FILE.exists() else (), now)
    if gone:
        print("Not written: older versions send or expect these.", *gone, sep="\n", file=sys.stderr)
        return 1
    FILE.write_text("".join(f"{line}\n" for line in now), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
