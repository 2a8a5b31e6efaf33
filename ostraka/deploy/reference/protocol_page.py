"""The page of the wire protocol: services, messages and fields, from their definitions."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from google.protobuf.descriptor_pb2 import FieldDescriptorProto, FileDescriptorProto, FileDescriptorSet

from ostraka.deploy.protos import PACKAGE_ROOT, SOURCES
from ostraka.deploy.reference.markdown import cell, plain, table
from ostraka.guardian.admin import admin_service
from ostraka.guardian.serving import service as guardian_service
from ostraka.protos.ostraka.v1 import limits_pb2
from ostraka.services.serving import server as party_service
from ostraka.services.training import training_server

_SYNTAX = 12
"""Number of the field of a file's descriptor to which its first comment belongs."""


@dataclass(frozen=True)
class Definition:
    """A message, service, enum, field, method or value, or a whole file.

    Attributes:
        descriptor: protoc's descriptor.
        comment: the comment above its definition.
        file: the file of the definition.
        path: its place in the file, as numbers of fields and indices in lists.
    """

    descriptor: Any
    comment: str
    file: FileDescriptorProto
    path: tuple[int, ...] = ()

    def parts(self, name: str) -> Iterator["Definition"]:
        """Yield the parts with this name, such as "field" of a message."""
        number = self.descriptor.DESCRIPTOR.fields_by_name[name].number
        for place, part in enumerate(getattr(self.descriptor, name)):
            path = (*self.path, number, place)
            yield Definition(part, _comment(self.file, path), self.file, path)


def definitions() -> Sequence[Definition]:
    """Return the files of the protocol; raise `RuntimeError` if protoc refuses one."""
    from grpc_tools import protoc

    names = sorted(str(path.relative_to(PACKAGE_ROOT)) for path in (PACKAGE_ROOT / SOURCES).glob("*.proto"))
    places = [f"--proto_path={PACKAGE_ROOT}", f"--proto_path={files('grpc_tools') / '_proto'}"]
    with TemporaryDirectory() as folder:
        out = Path(folder, "protocol")
        if protoc.main(["protoc", *places, "--include_source_info", f"--descriptor_set_out={out}", *names]):
            raise RuntimeError("protoc refused the definitions; its message is above.")
        found = FileDescriptorSet.FromString(out.read_bytes()).file
    return [Definition(file, _comment(file, (_SYNTAX,)), file) for file in found]


def _comment(file: FileDescriptorProto, path: tuple[int, ...]) -> str:
    """Return the lines above a definition, without the space that follows `//`."""
    places = (place for place in file.source_code_info.location if tuple(place.path) == path)
    return "\n".join(line.strip() for place in places for line in place.leading_comments.splitlines())


_HEAD = """\
# Wire protocol

gRPC over mutual TLS, as `protos/ostraka/v1` defines it. A server checks the caller's role and the size of a
message before anything else reads it. In which order calls are made is in
[architecture](../architecture.md#a-session).
"""
_ROLES = {
    **guardian_service.ROLES,
    **admin_service.ROLES,
    **party_service.ROLES,
    **training_server.ROLES,
}


def page() -> str:
    """Return the page as Markdown: all services, then all messages."""
    files = definitions()
    services = [_service(file, service) for file in files for service in file.parts("service")]
    return "\n".join(
        [_HEAD, "## Services\n", *services, *(piece for file in files for piece in _types(file))]
    )


def _service(file: Definition, service: Definition) -> str:
    name = service.descriptor.name
    rows = [
        (
            f"`{one.descriptor.name}`",
            _message_type(one.descriptor.input_type, one.descriptor.client_streaming),
            _message_type(one.descriptor.output_type, one.descriptor.server_streaming),
            _callers(f"/ostraka.v1.{name}/{one.descriptor.name}"),
            cell(one.comment),
        )
        for one in service.parts("method")
    ]
    calls = table(("call", "takes", "returns", "called by", "what it does"), rows)
    return f"### Service {name}\n\n{plain(file.comment)}\n\n{plain(service.comment)}\n\n{calls}"


def _callers(method: str) -> str:
    return ", ".join(sorted(role.value for role in _ROLES[method])) if method in _ROLES else "everybody"


def _types(file: Definition) -> Iterator[str]:
    """Yield the sections of one file's messages and enums."""
    found = [*map(_message, file.parts("message_type")), *map(_enum, file.parts("enum_type"))]
    if found:
        yield f"## Messages of {file.descriptor.name.rpartition('/')[2]}\n\n{plain(file.comment)}\n"
        yield from found


def _message(message: Definition) -> str:
    limit = message.descriptor.options.Extensions[limits_pb2.most_kib]
    told = f"{plain(message.comment)}\n\n" + (f"At most {limit:,} KiB.\n\n" if limit else "")
    rows = [_field(message, field) for field in message.parts("field")]
    fields = table(("number", "field", "type", "what it holds"), rows) if rows else "No fields.\n"
    return f"{_heading(message)}\n\n{told}{fields}"


def _field(message: Definition, field: Definition) -> tuple[str, str, str, str]:
    descriptor = field.descriptor
    kind = _type(descriptor)
    if descriptor.label == FieldDescriptorProto.LABEL_REPEATED:
        kind = f"list of {kind}"
    if descriptor.HasField("oneof_index") and not descriptor.proto3_optional:
        kind = f"{kind} (one of `{message.descriptor.oneof_decl[descriptor.oneof_index].name}`)"
    most = descriptor.options.Extensions[limits_pb2.most]
    told = cell(field.comment) + (f" At most {most:,}." if most else "")
    return str(descriptor.number), f"`{descriptor.name}`", kind, told


def _enum(enum: Definition) -> str:
    rows = [
        (str(value.descriptor.number), f"`{value.descriptor.name}`", cell(value.comment))
        for value in enum.parts("value")
    ]
    return f"{_heading(enum)}\n\n{plain(enum.comment)}\n\n{table(('number', 'value', 'what it means'), rows)}"


def _heading(defined: Definition) -> str:
    name = defined.descriptor.name
    return f"### {name} {{ #{_anchor(name)} }}"


def _message_type(type_name: str, streaming: bool) -> str:
    return f"stream of {_link(type_name)}" if streaming else _link(type_name)


def _type(descriptor: FieldDescriptorProto) -> str:
    if descriptor.type_name:
        return _link(descriptor.type_name)
    return FieldDescriptorProto.Type.Name(descriptor.type).removeprefix("TYPE_").lower()


def _link(type_name: str) -> str:
    name = type_name.rpartition(".")[2]
    return f"[{name}](#{_anchor(name)})"


def _anchor(name: str) -> str:
    return f"message-{name.lower()}"
