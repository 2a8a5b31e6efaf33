import pytest
from pydantic import TypeAdapter, ValidationError

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.identity import DnsLabel, Identity, Role, check_name

GOOD = ["a", "a1", "site-a", "x" * 63]
BAD = ["", "1a", "-a", "a-", "A", "a_b", "a.b", "ä", "a\n", "x" * 64, "a/b"]


@pytest.mark.parametrize("name", GOOD)
def test_names_that_are_dns_labels(name: str) -> None:
    assert check_name(name) == name
    assert TypeAdapter(DnsLabel).validate_python(name) == name


@pytest.mark.parametrize("name", BAD)
def test_names_that_are_not(name: str) -> None:
    with pytest.raises(OstrakaError, match="cannot be a name") as refusal:
        check_name(name)
    assert refusal.value.code is ErrorCode.CONFIG_INVALID
    with pytest.raises(ValidationError):
        TypeAdapter(DnsLabel).validate_python(name)


def test_an_identity_is_read_from_its_uri() -> None:
    identity = Identity("demo", "site-a", Role.PARTY)
    assert identity.uri == "ostraka://demo/site-a/party"
    assert identity.server_name == "party.site-a.demo.ostraka.internal"
    assert Identity.parse(identity.uri) == identity


@pytest.mark.parametrize(
    "uri",
    [
        "",
        "https://demo/a/party",
        "ostraka://demo/a",
        "ostraka://demo/a/king",
        "ostraka://d/a/party/x",
        "ostraka://D/a/party",
    ],
)
def test_what_is_no_identity(uri: str) -> None:
    with pytest.raises(OstrakaError) as refusal:
        Identity.parse(uri)
    assert refusal.value.code is ErrorCode.IDENTITY_INVALID
