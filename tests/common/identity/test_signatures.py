import math
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding

from ostraka.common.clock import ManualClock
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.identity import Identity, Role, read_signed, verify_signed
from ostraka.common.wire.contexts import GRANT_CONTEXT, TICKET_CONTEXT
from ostraka.common.wire.limits import LAST_UNIX_S, MAX_INTEGER
from ostraka.protos.ostraka.v1.common_pb2 import Agreement, Grant, Receipt, Receipts, Signed, Ticket
from tests.common.federation import GUARDIAN, NAME, PARTY, Federation

HOUR_S = 3600.0


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(1_800_000_000.0)


@pytest.fixture
def federation(tmp_path: Path, clock: ManualClock) -> Federation:
    return Federation(tmp_path / "federation", clock=clock)


@pytest.fixture
def signed(federation: Federation) -> Signed:
    return federation.issue(GUARDIAN).sign(GRANT_CONTEXT, b"payload")


class Verifier:
    def __init__(self, federation: Federation, clock: ManualClock) -> None:
        self.ca_pem = federation.ca.certificate.public_bytes(Encoding.PEM)
        self.clock = clock

    def __call__(
        self,
        signed: Signed,
        context: bytes = GRANT_CONTEXT,
        federation: str = NAME,
        role: Role = Role.GUARDIAN,
        site: str | None = None,
        skew_s: float = 0,
    ) -> Identity:
        return verify_signed(
            signed,
            context,
            ca_pem=self.ca_pem,
            clock=self.clock,
            federation=federation,
            role=role,
            site=site,
            skew_s=skew_s,
            invalid=ErrorCode.GRANT_INVALID,
        )

    def refusal(self, signed: Signed, **asked: object) -> ErrorCode:
        with pytest.raises(OstrakaError) as refusal:
            self(signed, **asked)  # type: ignore[arg-type]
        return refusal.value.code


@pytest.fixture
def verify(federation: Federation, clock: ManualClock) -> Verifier:
    return Verifier(federation, clock)


def test_a_signature_says_who_signed(signed: Signed, verify: Verifier) -> None:
    assert verify(signed, site="guardian") == GUARDIAN


def test_whatever_is_altered_is_invalid(signed: Signed, verify: Verifier) -> None:
    for altered in (
        Signed(payload=b"Payload", signature=signed.signature, certificate_der=signed.certificate_der),
        Signed(payload=b"payload", signature=bytes(64), certificate_der=signed.certificate_der),
        Signed(payload=b"payload", signature=b"", certificate_der=signed.certificate_der),
        Signed(payload=b"payload", signature=signed.signature, certificate_der=b"x"),
        Signed(payload=b"payload", signature=signed.signature),
    ):
        assert verify.refusal(altered) is ErrorCode.GRANT_INVALID


@pytest.mark.filterwarnings("ignore:Parsed a serial number")
def test_a_certificate_with_any_byte_altered_is_refused(signed: Signed, verify: Verifier) -> None:
    whole = signed.certificate_der
    issued = x509.load_der_x509_certificate(whole).tbs_certificate_bytes
    first = whole.index(issued)
    for at in range(first, first + len(issued)):
        for other in {whole[at] ^ 1, whole[at] ^ 128, 0} - {whole[at]}:
            certificate = whole[:at] + bytes([other]) + whole[at + 1 :]
            altered = Signed(payload=b"payload", signature=signed.signature, certificate_der=certificate)
            assert verify.refusal(altered) in (ErrorCode.GRANT_INVALID, ErrorCode.IDENTITY_FOREIGN)


def test_a_signature_holds_for_its_context_alone(signed: Signed, verify: Verifier) -> None:
    assert verify.refusal(signed, context=TICKET_CONTEXT) is ErrorCode.GRANT_INVALID


def test_the_signer_must_be_who_is_asked_for(signed: Signed, verify: Verifier) -> None:
    assert verify.refusal(signed, role=Role.PARTY) is ErrorCode.IDENTITY_WRONG_ROLE
    assert verify.refusal(signed, federation="other") is ErrorCode.IDENTITY_FOREIGN
    assert verify.refusal(signed, site="elsewhere") is ErrorCode.GRANT_INVALID


def test_a_signer_of_another_ca_is_foreign(verify: Verifier, clock: ManualClock, tmp_path: Path) -> None:
    stranger = Federation(tmp_path / "stranger", clock=clock).issue(GUARDIAN)
    assert verify.refusal(stranger.sign(GRANT_CONTEXT, b"payload")) is ErrorCode.IDENTITY_FOREIGN


def test_a_tls_certificate_signs_nothing(federation: Federation, verify: Verifier) -> None:
    credentials = federation.issue(GUARDIAN)
    tls = x509.load_pem_x509_certificate(credentials.tls_cert_pem).public_bytes(Encoding.DER)
    signed = Signed(
        payload=b"payload",
        signature=credentials.sign(GRANT_CONTEXT, b"payload").signature,
        certificate_der=tls,
    )
    assert verify.refusal(signed) is ErrorCode.GRANT_INVALID


def test_a_signer_expires_but_for_the_allowed_skew(
    federation: Federation, verify: Verifier, clock: ManualClock
) -> None:
    signed = federation.issue(PARTY, days=1).sign(GRANT_CONTEXT, b"payload")
    clock.advance(25 * HOUR_S)
    assert verify.refusal(signed, role=Role.PARTY) is ErrorCode.IDENTITY_EXPIRED
    assert verify(signed, role=Role.PARTY, skew_s=2 * HOUR_S) == PARTY
    clock.advance(-27 * HOUR_S)
    assert verify.refusal(signed, role=Role.PARTY) is ErrorCode.IDENTITY_NOT_YET_VALID
    assert verify(signed, role=Role.PARTY, skew_s=2 * HOUR_S) == PARTY


@pytest.mark.parametrize(
    "message",
    [
        Grant(not_before_unix_s=LAST_UNIX_S + 1),
        Grant(expires_unix_s=-1),
        Ticket(batch_id=MAX_INTEGER + 1),
        Agreement(epsilon=math.inf),
        Receipts(receipts=[Receipt(sensitivity=math.nan)]),
    ],
)
def test_numbers_that_mean_nothing_are_refused_though_they_are_signed(
    federation: Federation, clock: ManualClock, message: Grant | Ticket | Agreement | Receipts
) -> None:
    signed = federation.issue(GUARDIAN).sign(GRANT_CONTEXT, message.SerializeToString())
    with pytest.raises(OstrakaError) as refused:
        read_signed(
            signed,
            GRANT_CONTEXT,
            type(message)(),
            signer=GUARDIAN,
            ca_pem=Verifier(federation, clock).ca_pem,
            clock=clock,
            invalid=ErrorCode.GRANT_INVALID,
        )
    assert refused.value.code is ErrorCode.MESSAGE_INVALID
