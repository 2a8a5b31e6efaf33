import pytest

from ostraka.deploy.reference.protocol_page import definitions, page
from ostraka.guardian.serving.service import ROLES


@pytest.fixture(scope="module")
def made() -> str:
    return page()


def test_every_call_message_and_field_is_there(made: str) -> None:
    for file in definitions():
        for service in file.parts("service"):
            section = made.partition(f"### Service {service.descriptor.name}\n")[2].partition("\n### ")[0]
            calls = [row.split("`")[1] for row in section.splitlines() if row.startswith("| `")]
            assert calls == [method.name for method in service.descriptor.method]
        for message in file.parts("message_type"):
            name = message.descriptor.name
            section = made.partition(f"### {name} {{ #message-{name.lower()} }}\n")[2].partition("\n##")[0]
            fields = [row.split("`")[1] for row in section.splitlines() if row[2:3].isdigit()]
            assert fields == [field.name for field in message.descriptor.field]


def test_a_row_says_who_calls_and_what_for(made: str) -> None:
    (row,) = [line for line in made.splitlines() if line.startswith("| `SubmitBallots`")]
    assert ROLES["/ostraka.v1.Guardian/SubmitBallots"] == {"party"}
    assert "| party | Takes one party's share of a batch's ballots: header, then chunks." in row
    assert "stream of [SubmitBallotsRequest](#message-submitballotsrequest)" in row


def test_limits_of_messages_and_fields_are_told(made: str) -> None:
    section = made.partition("### BeginRequest ")[2].partition("\n### ")[0]
    assert "At most 4,096 KiB." in section


def test_no_two_messages_have_one_anchor(made: str) -> None:
    anchors = [line for line in made.splitlines() if "{ #message-" in line]
    assert len(anchors) > 50
    assert len({line.rpartition("{")[2] for line in anchors}) == len(anchors)
