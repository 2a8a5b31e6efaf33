"""Connections that a server closes once they are idle."""

import threading

import grpc

from ostraka.common.rpc import open_channel
from ostraka.common.rpc.limits import CallLimits
from ostraka.protos.ostraka.v1 import guardian_pb2 as pb
from ostraka.protos.ostraka.v1.guardian_pb2_grpc import GuardianStub
from tests.common.federation import GUARDIAN, PARTY, Federation
from tests.common.rpc.conftest import Serve
from tests.fair_clock import HANGS_S

SHORT = CallLimits(idle_s=0.2)


class Left:
    """Tells when a channel has left its connection."""

    def __init__(self) -> None:
        self._connected = False
        self._left = threading.Event()

    def note(self, state: grpc.ChannelConnectivity) -> None:
        self._connected |= state is grpc.ChannelConnectivity.READY
        if self._connected and state is grpc.ChannelConnectivity.IDLE:
            self._left.set()

    def wait(self) -> None:
        assert self._left.wait(HANGS_S), "the connection is still open"


def test_a_connection_without_calls_is_closed_and_the_next_call_opens_another(
    federation: Federation, serve: Serve
) -> None:
    address, left = serve(limits=SHORT), Left()
    with open_channel(federation.issue(PARTY), address, GUARDIAN) as channel:
        channel.subscribe(left.note)
        submit = GuardianStub(channel).SubmitBallots
        assert submit(iter(()), timeout=HANGS_S) == pb.SubmitBallotsReply()
        left.wait()
        assert submit(iter(()), timeout=HANGS_S) == pb.SubmitBallotsReply()
