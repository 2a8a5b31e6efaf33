"""A hospital's keys are stolen in the middle of a run: it is cut off, and the others' labels stay right."""

import itertools

from ostraka.client.session.meter import Peer, Traffic
from ostraka.common.clock import SystemClock
from ostraka.common.identity import CertificateAuthority, Identity, Role
from ostraka.common.plan.plan import Plan
from ostraka.deploy.provisioning.provision import CA_FOLDER
from ostraka.deploy.simulation.federation import ADMIN, GUARDIAN
from ostraka.guardian.admin.client import admin_call
from ostraka.guardian.admin.verification import verify_ledger
from ostraka.protos.ostraka.v1 import admin_pb2
from tests.e2e.sites import SETTINGS, Sites
from tests.e2e.test_parties_down import require_right_sums

FIRST, *OTHERS = SETTINGS.sites


def revoke(sites: Sites, site: str) -> None:
    """Revoke what a party holds, and give the list to the guardian."""
    authority = CertificateAuthority.load(sites.folder / CA_FOLDER)
    party = Identity(authority.federation, site, Role.PARTY)
    pem = authority.revoke(
        [one.serial for one in authority.issuances() if one.identity == party], SystemClock()
    )
    request = admin_pb2.RevokeRequest(revocations=pem, reason="stolen")
    assert admin_call(sites.folder / ADMIN, lambda stub: stub.Revoke(request)).revoked == 2


class RevokeAfterVotes:
    """Observes a run: revokes a party once everybody has voted on the first batch, before the next ticket."""

    def __init__(self, sites: Sites, party: str) -> None:
        self._sites = sites
        self._party = party
        self._votes = itertools.count(1)

    def step(self, peer: Peer, name: str, seconds: float, traffic: Traffic) -> None:
        if name == "vote" and next(self._votes) == len(SETTINGS.sites):
            revoke(self._sites, self._party)

    def batch(self, plan: Plan, queries: int, *, released: bool, left_out: int) -> None:
        """Nothing is done where a batch ends."""


def test_a_party_revoked_in_a_run_is_asked_no_more(sites: Sites) -> None:
    sites.start()
    result = sites.label(quorum=2, watch=RevokeAfterVotes(sites, FIRST))
    assert result.asked == result.answered == SETTINGS.records.queries
    assert [set(batch.parties) for batch in sites.state.batches] == [set(SETTINGS.sites), set(OTHERS)]
    require_right_sums(sites)
    charged = sites.charged()
    assert 0 < charged[FIRST] < charged[OTHERS[0]]
    assert charged[OTHERS[0]] == charged[OTHERS[1]]
    folder = sites.folder / GUARDIAN
    verify_ledger(folder / "ledger.db", folder / "ca.crt", [])
