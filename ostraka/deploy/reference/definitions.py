"""The wire protocol's definitions, with the comments of the .proto files."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from google.protobuf.descriptor_pb2 import FileDescriptorProto, FileDescriptorSet

from ostraka.deploy.protos import PACKAGE_ROOT, SOURCES

_SYNTAX = 12
"""Number of the field of a file's descriptor that its first comment belongs to."""


@dataclass(frozen=True)
class Definition:
    """A message, service, enum, field, method or value, or a whole file.

    Attributes:
        descriptor: what protoc says of it.
        comment: what its definition says above it.
        file: whose it is.
        path: where it is in there, in numbers of fields and places in lists.
    """

    descriptor: Any
    comment: str
    file: FileDescriptorProto
    path: tuple[int, ...] = ()

    def parts(self, name: str) -> Iterator["Definition"]:
        """Yield the parts that are called so, such as "field" of a message."""
        number = self.descriptor.DESCRIPTOR.fields_by_name[name].number
        for place, part in enumerate(getattr(self.descriptor, name)):
            path = (*self.path, number, place)
            yield Definition(part, _comment(self.file, path), self.file, path)


def definitions() -> Sequence[Definition]:
    """Return the files of the protocol; raise `RuntimeError` where protoc refuses one."""
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
