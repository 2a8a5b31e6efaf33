"""What every part of the admin service works with."""

from common.clock import Clock
from common.identity import Credentials
from guardian.ledger import Ledger
from guardian.policy import Policies
from protos.ostraka.v1 import admin_pb2_grpc


class AdminPart(admin_pb2_grpc.AdminServicer):
    """Some methods of the admin service; the caller's role is checked before one runs."""

    def __init__(self, ledger: Ledger, policies: Policies, credentials: Credentials, clock: Clock) -> None:
        """Take the ledger, the policy in force, and whom signatures are verified against, as of when."""
        self._ledger = ledger
        self._policies = policies
        self._credentials = credentials
        self._clock = clock
