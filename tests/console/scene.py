"""A federation of hospitals that has run for some weeks, for the console to show."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from ostraka.common.clock import ManualClock, SystemClock
from ostraka.common.identity import Identity, Role
from ostraka.common.mechanism import Confident
from ostraka.protos.ostraka.v1 import admin_pb2, guardian_pb2
from tests.guardian.dashboard.browsing import admin_folder
from tests.guardian.federation import FEDERATION, Calls, Federation, group, plan, unanimous

HOSPITALS = ("athens-general", "delphi-clinic", "sparta-hospital")
DAY_S = 86400.0
BATCH = 20
POLICY = "min_sigma = 5.0\nmin_quorum = 2\n[policy.consent]\nlow = 2.0\nmedium = 6.0\nhigh = 12.0\n"


@dataclass(frozen=True)
class Scene:
    """A guardian with a history, and its administrator's folder."""

    federation: Federation
    guardian: Calls
    clock: ManualClock
    folder: Path

    def cancel(self, session: str) -> None:
        """End a session, as another administrator might meanwhile."""
        self.guardian.admin.CancelSession(admin_pb2.CancelSessionRequest(session_id=session, reason="a test"))


@contextmanager
def scene(root: Path) -> Iterator[Scene]:
    """Yield three hospitals after four weeks with four sessions, the last of them open."""
    clock = ManualClock(SystemClock().now())
    federation = Federation(root, clock=clock, policy=POLICY)
    for site in HOSPITALS:
        folder = root / f"{site}-party"
        folder.mkdir()
        identity = Identity(FEDERATION, site, Role.PARTY)
        federation.credentials[site, Role.PARTY] = federation.ca.issue(identity, folder, clock)
    with federation.guardian() as guardian:
        _begin(guardian)
        _session(guardian, clock, 0, queries=60, batches=3, after_days=3)
        _session(guardian, clock, 1, queries=40, batches=2, after_days=6)
        guardian.budget("sparta-hospital", 9.5, reason="the ethics board asked for less")
        _session(guardian, clock, 2, queries=60, batches=3, after_days=8)
        guardian.freeze("delphi-clinic", "outpatients")
        _session(guardian, clock, 3, queries=100, batches=2, after_days=9)
        yield Scene(federation, guardian, clock, admin_folder(federation, guardian))


def _begin(guardian: Calls) -> None:
    guardian.register("athens-general")
    guardian.register("delphi-clinic", groups=[group("inpatients"), group("outpatients")])
    guardian.register("sparta-hospital")
    guardian.budget("athens-general", 12.0, reason="as the contract says")
    guardian.budget("sparta-hospital", 10.0)
    for name, level in (("inpatients", "high"), ("outpatients", "medium")):
        request = admin_pb2.SetConsentRequest(
            party="delphi-clinic", group=name, adjacency="record", level=level, reason="as patients chose"
        )
        guardian.admin.SetConsent(request)


def _session(
    guardian: Calls, clock: ManualClock, number: int, *, queries: int, batches: int, after_days: float
) -> None:
    """Open a session and release batches of it, two hours apart; close it if these are all its queries."""
    clock.advance(after_days * DAY_S)
    asked = plan(
        nonce=bytes([number]) * 16,
        parties=HOSPITALS,
        mechanism=Confident(sigma1=60.0, sigma2=30.0, threshold=15.0),
        queries=queries,
    )
    session = guardian.open(asked).session_id
    for batch in range(1, batches + 1):
        guardian.ticket(session, batch, BATCH)
        guardian.release(session, batch, guardian.vote(session, batch, unanimous(BATCH), HOSPITALS))
        clock.advance(DAY_S / 12)
    if batches * BATCH == queries:
        guardian.query.CloseSession(guardian_pb2.CloseSessionRequest(session_id=session))
