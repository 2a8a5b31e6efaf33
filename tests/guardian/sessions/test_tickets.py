import hashlib
from pathlib import Path

import pytest

from ostraka.common.clock import SystemClock
from ostraka.common.identity import CertificateAuthority, Credentials, Identity, Role
from ostraka.common.plan.signed_lists import sign_list
from ostraka.common.wire.contexts import GRANT_CONTEXT
from ostraka.guardian.sessions.tickets import reissue_grant
from ostraka.protos.ostraka.v1 import common_pb2
from tests.signed_lists import grant_of

GRANT = common_pb2.Grant(
    session_id="s",
    key_id=b"of an earlier key",
    participants=[common_pb2.Participant(site=site, teachers=3) for site in "ab"],
)


@pytest.fixture(scope="module")
def guardian(tmp_path_factory: pytest.TempPathFactory) -> Credentials:
    folder: Path = tmp_path_factory.mktemp("guardian")
    ca = CertificateAuthority.create("fed", SystemClock())
    return ca.issue(Identity("fed", "guardian", Role.GUARDIAN), folder, SystemClock())


def test_a_grant_is_given_out_again_as_it_was_stored(guardian: Credentials) -> None:
    stored = sign_list(guardian, GRANT_CONTEXT, GRANT)
    assert reissue_grant(guardian, stored.SerializeToString()) == stored


def test_a_grant_of_an_earlier_version_is_signed_anew(guardian: Credentials) -> None:
    """Runs that it began go on after the update: parties are shown their own entries of the same grant.

    It names the key that signs now: the guardian may have got another one since.
    """
    before = guardian.sign(GRANT_CONTEXT, GRANT.SerializeToString())
    given = grant_of(reissue_grant(guardian, before.SerializeToString()))
    assert (given.session_id, given.teachers) == ("s", 6)
    assert given.key_id == hashlib.sha256(guardian.signing_public_key).digest()
    assert list(given.participants) == list(GRANT.participants)
