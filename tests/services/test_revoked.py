"""Revocation lists reach a party with its registrations, and count from then on."""

import pytest

from ostraka.common.clock import SystemClock
from ostraka.common.datasets import digits
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.identity import CertificateAuthority, Credentials
from ostraka.common.identity.revocation import CRL
from ostraka.services.serving.server import running
from tests.services.wire import FEDERATION, Ask, Caller, Federation, yesterday
from tests.waiting import until

AGAIN_S = 0.05


def listing(attica: Federation, *holders: Credentials) -> bytes:
    serials = [one.serial_number for holder in holders for one in (holder.tls_cert, holder.signing_cert)]
    return attica.ca.revoke(serials, SystemClock())


def one_query(caller: Caller) -> Ask:
    return caller.ask(caller.federation.task.prepare(digits().X[:1]))


def refused(caller: Caller) -> ErrorCode:
    with pytest.raises(OstrakaError) as refusal:
        caller.vote(one_query(caller))
    return refusal.value.code


def test_a_revoked_querying_party_gets_no_vote(attica: Federation) -> None:
    attica.guardian.revocations = listing(attica, attica.querier)
    with attica.serving() as caller:
        assert refused(caller) is ErrorCode.IDENTITY_REVOKED


def test_what_a_revoked_guardian_signed_permits_nothing(attica: Federation) -> None:
    attica.guardian.revocations = listing(attica, attica.guardian.credentials)
    with attica.serving() as caller:
        assert refused(caller) is ErrorCode.IDENTITY_REVOKED
    assert not attica.guardian.submissions


def test_a_list_that_comes_later_counts_while_the_party_serves(attica: Federation) -> None:
    party = running(attica.party, stop=attica.stop, again_s=AGAIN_S)
    with party as address, attica.calling(address) as caller:
        caller.vote(one_query(caller))
        attica.guardian.revocations = listing(attica, attica.querier)
        until(lambda: attica.guardian.known_revocations[-1] == 1)
        assert refused(caller) is ErrorCode.IDENTITY_REVOKED
    assert (attica.party / CRL).read_bytes() == attica.guardian.revocations
    attica.guardian.revocations = b""
    with attica.serving() as caller:
        assert refused(caller) is ErrorCode.IDENTITY_REVOKED


def test_a_list_of_another_ca_is_not_taken(attica: Federation) -> None:
    stranger = CertificateAuthority.create(FEDERATION, yesterday())
    attica.guardian.revocations = stranger.revoke([attica.querier.tls_cert.serial_number], SystemClock())
    with attica.serving() as caller:
        caller.vote(one_query(caller))
    assert not (attica.party / CRL).exists()
