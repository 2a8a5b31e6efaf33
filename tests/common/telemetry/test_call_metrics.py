import pytest

from ostraka.common.telemetry.call_metrics import SIZED, UNTOLD, ids_of, metric_name
from ostraka.protos.ostraka.v1 import common_pb2, guardian_pb2, party_pb2, training_pb2

SESSION = "0a1b" * 8
SIGNED = common_pb2.Signed(payload=common_pb2.Ticket(session_id=SESSION, batch_id=3).SerializeToString())
TICKET = common_pb2.SignedEntry(signed=SIGNED)
NO_TICKET = common_pb2.SignedEntry(signed=common_pb2.Signed(payload=b"\xff"))
BOTH = {"session": SESSION, "batch": 3}


@pytest.mark.parametrize(
    ("message", "ids"),
    [
        (guardian_pb2.PrepareRequest(session_id=SESSION, batch_id=3), BOTH),
        (guardian_pb2.CloseSessionRequest(session_id=SESSION), {"session": SESSION}),
        (common_pb2.Step(header=common_pb2.StepHeader(session_id=SESSION, batch_id=3)), BOTH),
        (common_pb2.Step(chunk=common_pb2.Chunk(data=b"x")), {}),
        (party_pb2.VoteRequest(header=party_pb2.VoteHeader(ticket=TICKET)), BOTH),
        (party_pb2.BeginRequest(ticket=TICKET), BOTH),
        (training_pb2.TrainRequest(header=training_pb2.TrainHeader(ticket=TICKET)), BOTH),
        (party_pb2.BeginRequest(ticket=NO_TICKET), {}),
        (guardian_pb2.CloseSessionRequest(session_id="x" * 100), {}),
        (b"bytes", {}),
    ],
)
def test_the_ids_of_a_request_are_those_it_names(message: object, ids: dict[str, object]) -> None:
    assert ids_of(message) == ids


def test_the_methods_that_are_named_exist() -> None:
    services = (guardian_pb2.DESCRIPTOR, party_pb2.DESCRIPTOR)
    methods = {
        f"{service.name}/{method.name}"
        for file in services
        for service in file.services_by_name.values()
        for method in service.methods
    }
    assert methods >= UNTOLD
    assert methods >= SIZED


def test_what_says_how_many_passed_is_untold() -> None:
    assert metric_name("/ostraka.v1.Guardian/GarbleTally") is None
    assert metric_name("/grpc.health.v1.Health/Check") is None
    assert metric_name("/ostraka.v1.Party/Vote") == "Party/Vote"
