"""What older versions send and expect stays: fields, values and calls are added, and nothing else."""

from collections.abc import Callable
from pathlib import Path

import pytest
from google.protobuf.descriptor_pb2 import DescriptorProto, FieldDescriptorProto, FileDescriptorProto

from tests import wire

PACKAGE = "ostraka.v1"


def definition(name: str) -> FileDescriptorProto:
    """Return the file of the protocol that is called so."""
    return next(file for file in wire.files() if file.name.endswith(f"/{name}.proto"))


def message(file: FileDescriptorProto, name: str) -> DescriptorProto:
    return next(one for one in file.message_type if one.name == name)


def remove(file: FileDescriptorProto) -> None:
    """Remove Budget's first field."""
    del message(file, "Budget").field[0]


def renumber(file: FileDescriptorProto) -> None:
    message(file, "Budget").field[0].number = 1000


def rename(file: FileDescriptorProto) -> None:
    message(file, "Budget").field[0].name = "renamed"


def retype(file: FileDescriptorProto) -> None:
    message(file, "Budget").field[0].type = FieldDescriptorProto.TYPE_SFIXED64


def repeat(file: FileDescriptorProto) -> None:
    message(file, "Budget").field[0].label = FieldDescriptorProto.LABEL_REPEATED


def choose(file: FileDescriptorProto) -> None:
    """Put Budget's first field into a oneof."""
    changed = message(file, "Budget")
    changed.oneof_decl.add(name="choice")
    changed.field[0].oneof_index = 0


def release_number(file: FileDescriptorProto) -> None:
    """Let numbers be taken again that once had a meaning."""
    for each in file.message_type:
        del each.reserved_range[:]


def remove_message(file: FileDescriptorProto) -> None:
    file.message_type.remove(message(file, "Budget"))


def remove_call(file: FileDescriptorProto) -> None:
    del file.service[0].method[0]


def stream(file: FileDescriptorProto) -> None:
    file.service[0].method[0].client_streaming = True


def take_another(file: FileDescriptorProto) -> None:
    file.service[0].method[0].input_type = f".{PACKAGE}.Budget"


def renumber_value(file: FileDescriptorProto) -> None:
    file.enum_type[0].value[1].number = 77


BREAKS = (
    remove,
    renumber,
    rename,
    retype,
    repeat,
    choose,
    release_number,
    remove_message,
    remove_call,
    stream,
)
CHANGES = [*((change, "admin") for change in (*BREAKS, take_another)), (renumber_value, "common")]


def test_nothing_is_lost_and_what_is_new_is_listed() -> None:
    """What is new: run `python -m tests.wire`, which refuses to lose anything."""
    listed = wire.FILE.read_text(encoding="utf-8").splitlines()
    now = wire.listing(wire.files())
    assert wire.lost(listed, now) == [], "older versions send or expect these: a change starts v2"
    assert now == listed, "run `python -m tests.wire`"


@pytest.mark.parametrize(("change", "name"), CHANGES)
def test_a_change_that_older_versions_do_not_understand_is_a_loss(
    change: Callable[[FileDescriptorProto], None], name: str
) -> None:
    file = definition(name)
    before = wire.listing([file])
    change(file)
    assert wire.lost(before, wire.listing([file])) != []


def test_a_new_field_is_no_loss() -> None:
    file = definition("admin")
    before = wire.listing([file])
    message(file, "Budget").field.add(
        name="newer",
        number=1000,
        type=FieldDescriptorProto.TYPE_STRING,
        label=FieldDescriptorProto.LABEL_OPTIONAL,
    )
    after = wire.listing([file])
    assert wire.lost(before, after) == []
    assert set(after) - set(before) == {f"{PACKAGE}.Budget.newer = 1000: string"}


def test_the_list_is_not_written_where_it_would_lose_a_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    gone = f"{PACKAGE}.Budget.gone = 99: string"
    file = tmp_path / "wire.txt"
    file.write_text(f"{gone}\n", encoding="utf-8")
    monkeypatch.setattr(wire, "FILE", file)
    assert wire.main() == 1
    assert gone in capsys.readouterr().err
    assert file.read_text(encoding="utf-8") == f"{gone}\n"
