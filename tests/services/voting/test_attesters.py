"""Whom a party keeps to attest its latest verified ballots, and at which points they do."""

from pathlib import Path

import pytest

from ostraka.common.clock import SystemClock
from ostraka.common.errors import OstrakaError
from ostraka.common.identity import CertificateAuthority, Credentials, Identity, Role
from ostraka.common.sharing.prime_field import PrimeField
from ostraka.common.sharing.statement import Statement
from ostraka.common.verified.attestation import Attester
from ostraka.common.verified.layout import layout_of
from ostraka.common.wire.contexts import ATTESTATION_CONTEXT, EVALUATION_CONTEXT, MANIFEST_CONTEXT
from ostraka.protos.ostraka.v1 import common_pb2
from ostraka.services.voting.submission import MAX_ATTESTED, Attesters

POINT = bytes(range(32))
ATTESTER = Attester([layout_of(Statement(rows=1, cells=2, most=3, total=3), PrimeField(31))], b"batch", POINT)


class Members:
    """A party, the querying party that asked it, and another."""

    def __init__(self, folder: Path) -> None:
        authority = CertificateAuthority.create("test", SystemClock())

        def issue(site: str, role: Role) -> Credentials:
            (folder / site).mkdir()
            return authority.issue(Identity("test", site, role), folder / site, SystemClock())

        self.party = issue("party", Role.PARTY)
        self.querier = issue("querier", Role.QUERY)
        self.other = issue("other", Role.QUERY)
        self.attesters = Attesters(self.party, SystemClock())

    def keep(self, batch: int) -> None:
        self.attesters.keep(("session", batch), ATTESTER, self.querier.identity.uri)

    def attest(
        self,
        batch: int,
        point: bytes = POINT,
        signer: Credentials | None = None,
        context: bytes = EVALUATION_CONTEXT,
    ) -> common_pb2.Attestation | None:
        """Return what the party says at a point that a querying party signed."""
        told = common_pb2.Evaluation(session_id="session", batch_id=batch, point_seed=point)
        signed = self.attesters.attestation((signer or self.querier).sign(context, told.SerializeToString()))
        return None if signed is None else common_pb2.Attestation.FromString(signed.payload)


@pytest.fixture(scope="module")
def members(tmp_path_factory: pytest.TempPathFactory) -> Members:
    return Members(tmp_path_factory.mktemp("members"))


def test_ballots_are_attested_at_the_point_of_who_asked(members: Members) -> None:
    members.keep(1)
    told = members.attest(1)
    assert told is not None
    assert (told.session_id, told.batch_id, told.sha256) == ("session", 1, ATTESTER.attest(POINT))
    assert members.attest(2) is None


def test_nothing_is_said_at_a_point_that_the_guardian_or_others_choose(members: Members) -> None:
    """At two points of its choice the guardian could try out votes."""
    members.keep(1)
    for signer, context, code in (
        (members.other, EVALUATION_CONTEXT, "message.invalid"),
        (members.party, EVALUATION_CONTEXT, "identity.wrong_role"),
        (members.querier, ATTESTATION_CONTEXT, "message.invalid"),
        (members.querier, MANIFEST_CONTEXT, "message.invalid"),
    ):
        with pytest.raises(OstrakaError) as refused:
            members.attest(1, signer=signer, context=context)
        assert refused.value.code == code
    forged = members.querier.sign(
        EVALUATION_CONTEXT, common_pb2.Evaluation(session_id="x").SerializeToString()
    )
    told = common_pb2.Evaluation(session_id="session", batch_id=1, point_seed=bytes(32))
    forged.payload = told.SerializeToString()
    with pytest.raises(OstrakaError, match="signature"):
        members.attesters.attestation(forged)


@pytest.mark.parametrize("seed", [b"", POINT[1:]])
def test_a_point_of_another_length_is_invalid(members: Members, seed: bytes) -> None:
    members.keep(1)
    with pytest.raises(OstrakaError) as refused:
        members.attest(1, point=seed)
    assert refused.value.code == "message.invalid"


def test_what_is_no_evaluation_is_invalid(members: Members) -> None:
    with pytest.raises(OstrakaError) as refused:
        members.attesters.attestation(common_pb2.Signed(payload=b"\xff"))
    assert refused.value.code == "message.invalid"


def test_the_oldest_batch_goes_for_one_too_many(members: Members) -> None:
    for batch in range(MAX_ATTESTED + 1):
        members.keep(1000 + batch)
    assert members.attest(1000) is None
    assert members.attest(1001) is not None
    assert members.attest(1000 + MAX_ATTESTED) is not None
