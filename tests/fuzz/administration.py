"""Actions of an honest administrator and an honest party outside sessions, all about a spare party."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

from ostraka.common.clock import SystemClock
from ostraka.common.config import load_site
from ostraka.common.errors import OstrakaError
from ostraka.common.identity import CertificateAuthority, Credentials, Identity, Role
from ostraka.common.rpc import call_error, open_channel
from ostraka.common.task import load_task
from ostraka.common.wire.contexts import (
    AGREEMENT_CONTEXT,
    ATTESTATION_CONTEXT,
    MANIFEST_CONTEXT,
    RECEIPTS_CONTEXT,
)
from ostraka.guardian.admin.client import admin_call
from ostraka.protos.ostraka.v1 import (
    admin_pb2,
    admin_pb2_grpc,
    common_pb2,
    guardian_pb2,
    guardian_pb2_grpc,
    site_pb2,
    site_pb2_grpc,
)
from tests.fuzz.calling import NEVER_HONEST

SPARE, DELTA = "spare", 1e-5


def set_budget(admin: Path, party: str, group: str, epsilon: float) -> None:
    """Set a record budget."""
    asked = admin_pb2.SetBudgetRequest(
        party=party, group=group, adjacency="record", epsilon=epsilon, delta=DELTA
    )
    admin_call(admin, lambda stub: stub.SetBudget(asked))


def administer(sites: Path) -> None:
    """Register the spare party, and make every call of its administrator; most may be refused."""
    _tolerating(partial(_as_party, sites / SPARE))
    for name, request in _requests(sites):
        _tolerating(partial(admin_call, sites / "admin", partial(_answered, name, request)))


def _as_party(folder: Path) -> None:
    site, credentials = load_site(folder), Credentials.load(folder)
    guardian = Identity(site.federation, site.guardian_site, Role.GUARDIAN)
    groups = [common_pb2.Group(name=name, records=20, teachers=2, copies=1) for name in ("all", "some")]
    manifest = common_pb2.Manifest(
        site=SPARE,
        task_digest=load_task(folder / "task.toml").digest,
        groups=groups,
        max_votes_per_person=1,
        training="fuzz",
        head="linear",
    )
    signed = credentials.sign(MANIFEST_CONTEXT, manifest.SerializeToString())
    receipts = common_pb2.Receipts(site=SPARE, receipts=[_receipt(batch) for batch in range(3)])
    owed = credentials.sign(RECEIPTS_CONTEXT, receipts.SerializeToString())
    attestation = common_pb2.Attestation(session_id="lost", batch_id=1, sha256=bytes(32))
    attested = guardian_pb2.AttestBallotsRequest(
        attestation=credentials.sign(ATTESTATION_CONTEXT, attestation.SerializeToString())
    )
    with closing(open_channel(credentials, site.guardian, guardian)) as channel:
        stub = guardian_pb2_grpc.GuardianStub(channel)
        head = stub.Register(guardian_pb2.RegisterRequest(manifest=signed)).audit_head
        stub.Register(guardian_pb2.RegisterRequest(manifest=signed, kept_head=head))
        stub.Standing(guardian_pb2.StandingRequest())
        site_pb2_grpc.SiteStub(channel).About(site_pb2.AboutRequest())
        _tolerating(lambda: stub.AttestBallots(attested))
        _tolerating(lambda: stub.Reconcile(iter([guardian_pb2.ReconcileRequest(receipts=owed)] * 2)))


def _receipt(batch: int) -> common_pb2.Receipt:
    mechanism = common_pb2.Mechanism(gnmax=common_pb2.GnMax(sigma=40.0))
    return common_pb2.Receipt(
        session_id="lost",
        batch_id=batch,
        group="all",
        mechanism=mechanism,
        classes=3,
        adjacency="record",
        queries=4,
        sensitivity=1.0,
    )


def _requests(sites: Path) -> Iterator[tuple[str, Any]]:
    unit: dict[str, Any] = {"party": SPARE, "group": "some", "adjacency": "record"}
    yield "ListParties", admin_pb2.ListPartiesRequest(party=SPARE)
    for state in ("suspended", "active"):
        yield "SetParty", admin_pb2.SetPartyRequest(party=SPARE, state=state, reason="a try")
    yield "SetBudget", admin_pb2.SetBudgetRequest(**unit, epsilon=4.0, delta=DELTA, reason="a try")
    yield "SetBudget", admin_pb2.SetBudgetRequest(**unit, epsilon=3.0, delta=DELTA, order=8.0)
    yield "GrantBudget", _agreed(sites / SPARE, "raise")
    for frozen in (True, False):
        yield "FreezeBudget", admin_pb2.FreezeBudgetRequest(**unit, frozen=frozen, reason="a try")
    yield "SetConsent", admin_pb2.SetConsentRequest(**unit, level="low", reason="a try")
    yield "WithdrawConsent", admin_pb2.WithdrawConsentRequest(**unit, reason="a try")
    yield "GrantBudget", _agreed(sites / SPARE, "consent")
    yield "ListBudgets", admin_pb2.ListBudgetsRequest()
    yield "BudgetHistory", admin_pb2.BudgetHistoryRequest(**unit)
    yield "ShowPolicy", admin_pb2.ShowPolicyRequest()
    toml = "min_sigma = 0.01\nmin_quorum = 2\nmax_batch = 100\n"
    yield "ApplyPolicy", admin_pb2.ApplyPolicyRequest(toml=toml, reason="a try", check_only=True)
    yield "ListSessions", admin_pb2.ListSessionsRequest()
    listed = partial(_answered, "ListSessions", admin_pb2.ListSessionsRequest())
    for session in admin_call(sites / "admin", listed)[-1:]:
        yield "ShowSession", admin_pb2.ShowSessionRequest(session_id=session.session_id)
        yield "CancelSession", admin_pb2.CancelSessionRequest(session_id=session.session_id, reason="a try")
    revocations = CertificateAuthority.load(sites / "ca").revoke([4711], SystemClock())
    yield "Revoke", admin_pb2.RevokeRequest(revocations=revocations, reason="a try")
    yield "Head", admin_pb2.HeadRequest()
    yield "ExportAudit", admin_pb2.ExportAuditRequest(first=1)
    yield "ListSealedCharges", admin_pb2.ListSealedChargesRequest()
    yield "ListCharges", admin_pb2.ListChargesRequest(party="a")


def _agreed(folder: Path, action: str) -> admin_pb2.GrantBudgetRequest:
    agreement = common_pb2.Agreement(
        site=SPARE, group="some", adjacency="record", action=action, epsilon_before=3.0, epsilon=8.0
    )
    signed = Credentials.load(folder).sign(AGREEMENT_CONTEXT, agreement.SerializeToString())
    return admin_pb2.GrantBudgetRequest(agreement=signed, reason="a try")


def _answered(name: str, request: Any, stub: admin_pb2_grpc.AdminStub) -> Any:
    reply = getattr(stub, name)(request)
    return reply if hasattr(reply, "DESCRIPTOR") else list(reply)


def _tolerating(call: Callable[[], object]) -> None:
    try:
        call()
    except Exception as error:
        told = error if isinstance(error, OstrakaError) else call_error(error)  # type: ignore[arg-type]
        if told.code in NEVER_HONEST:
            raise
