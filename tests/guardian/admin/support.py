"""Code shared by tests of the admin service."""

from typing import Any

import grpc
import numpy as np

from ostraka.common.errors import OstrakaError
from ostraka.common.identity import Role
from ostraka.common.mechanism import Moments
from ostraka.common.rpc import call_error
from ostraka.common.wire.contexts import AGREEMENT_CONTEXT
from ostraka.protos.ostraka.v1 import admin_pb2, common_pb2
from tests.guardian.federation import PARTIES, Calls, Federation, plan, unanimous

UNIT: dict[str, Any] = {"party": "a", "group": "all", "adjacency": "record"}


def refused(call: Any) -> OstrakaError:
    """Return the error that `call` is refused with."""
    try:
        call()
    except grpc.RpcError as exc:
        return call_error(exc)
    raise AssertionError("the call was not refused")


def agree(
    federation: Federation, signer: str = "a", role: Role = Role.PARTY, **fields: Any
) -> common_pb2.Signed:
    """Sign a party's agreement as that party; a raise from 1000 to 2000 unless fields say otherwise."""
    raises = fields.get("action", "raise") == "raise"
    raised = {"epsilon_before": 1000.0, "epsilon": 2000.0} if raises else {}
    agreed: dict[str, Any] = {
        "site": "a",
        "group": "all",
        "adjacency": "record",
        "action": "raise",
        **raised,
    } | fields
    payload = common_pb2.Agreement(**agreed).SerializeToString()
    return federation.credentials[signer, role].sign(AGREEMENT_CONTEXT, payload)


def grant(guardian: Calls, agreement: common_pb2.Signed, reason: str = "we agreed") -> admin_pb2.Budget:
    request = admin_pb2.GrantBudgetRequest(agreement=agreement, reason=reason)
    return guardian.admin.GrantBudget(request).budget


def budget(guardian: Calls, party: str = "a") -> admin_pb2.Budget:
    (found,) = guardian.admin.ListBudgets(admin_pb2.ListBudgetsRequest(party=party))
    return found


MOMENTS = Moments(columns=3, codes=2, sigma=2.0)


def add_up(guardian: Calls) -> str:
    """Allow sums in the policy, release one over the records of all parties, and return its session's id."""
    guardian.apply_policy('min_sigma = 0.5\nmin_quorum = 2\nmechanisms = ["votes", "sums"]\n')
    asked = plan(mechanism=MOMENTS, classes=2, queries=1, batch_size=1)
    session = guardian.open(asked).session_id
    guardian.ticket(session, 1, 1)
    sums = np.ones((len(PARTIES), 1, MOMENTS.width(2)), np.int64)
    guardian.replies(session, 1, guardian.vote(session, 1, sums))
    return session


def label(guardian: Calls, batch: int = 1) -> str:
    """Open a session (always the same one), release a batch of it, and return the session's id."""
    session = guardian.open().session_id
    guardian.ticket(session, batch, 20)
    guardian.release(session, batch, guardian.vote(session, batch, unanimous(20)))
    return session
