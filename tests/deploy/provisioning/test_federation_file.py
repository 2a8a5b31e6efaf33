import re
from pathlib import Path

import pytest

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.deploy.provisioning.federation_file import FederationFile, listen_address, load_federation

EXAMPLE = Path(__file__).parents[3] / "examples" / "federation.toml"
GUARDIAN = '[guardian]\nsite = "hub"\naddress = "hub.example:7000"\n'
ADMIN, QUERY = '[[admin]]\nsite = "hub"\n', '[[query]]\nsite = "q"\n'
PARTY = '[[party]]\nsite = "a"\naddress = "a.example:7001"\n'
WHOLE = 'federation = "demo"\n' + GUARDIAN + ADMIN + PARTY + QUERY


def load(tmp_path: Path, text: str) -> object:
    path = tmp_path / "federation.toml"
    path.write_text(text)
    return load_federation(path)


def test_the_example_is_a_federation() -> None:
    found = load_federation(EXAMPLE)
    assert [identity.uri.removeprefix("ostraka://clinics/") for identity in found.identities] == [
        "trustee/guardian",
        "trustee/admin",
        "alpha/party",
        "beta/party",
        "gamma/party",
        "delta/query",
    ]
    assert [party.device for party in found.party] == ["auto", "auto", "cuda"]


def test_a_server_listens_everywhere_unless_it_says_otherwise() -> None:
    assert listen_address("a.example:7001", "") == "0.0.0.0:7001"
    assert listen_address("a.example:7001, b.example:7002", "") == "0.0.0.0:7001"
    assert listen_address("a.example:7001", "10.0.0.1:9000") == "10.0.0.1:9000"


def test_a_site_may_ask_and_answer(tmp_path: Path) -> None:
    load(tmp_path, WHOLE.replace('site = "q"', 'site = "a"'))


DATABASE = '[guardian]\nledger = "postgresql"\nurl_file = "{}"'
HOSTILE_FILES = ("x'; rm -rf ~; '", "../../etc/x", "/etc/x", "a\\nb", "${HOME}", "-x", "a/../b", "\u00e9", "")
HOSTILE_HOSTS = (
    "a\\nb",
    "${HOSTNAME}",
    "a b",
    " a",
    "-a",
    "a;b",
    "[::1",
    "[::g]",
    "::1",
    "\u00e9",
    "a" * 300,
)
TWO = PARTY + PARTY.replace('"a"', '"b"').replace("a.example", "{host}")


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (WHOLE + PARTY, "number 1 and number 2 are both a"),
        (WHOLE.replace(PARTY, TWO.format(host="A.example")), "party a and the party b share port 7001"),
        (
            WHOLE.replace("hub.example:7000", "a.example:7001"),
            "guardian hub and the party a share port 7001 on a.example",
        ),
        (
            WHOLE.replace("hub.example:7000", "a.example:7000").replace(
                PARTY, PARTY + 'listen = "0.0.0.0:7000"\n'
            ),
            "guardian hub and the party a share port 7000",
        ),
        (
            WHOLE.replace("hub.example:7000", "hub.example:7000, hub.example:7000"),
            "guardian hub and the guardian hub share port 7000",
        ),
        (WHOLE.replace(PARTY, ""), r"no \[\[party\]\]"),
        (WHOLE.replace(ADMIN, ""), r"no \[\[admin\]\]"),
        (WHOLE.replace(QUERY, ""), r"no \[\[query\]\]"),
        (
            WHOLE.replace('"a.example:7001"', '"a.example"'),
            r"party, entry 1, address: 'a\.example' is no address",
        ),
        (WHOLE.replace("a.example:7001", "a.example:0"), "port 0"),
        (WHOLE.replace('site = "q"', 'site = "hub"'), r"\[guardian\] and \[\[query\]\] are both hub"),
        (WHOLE.replace('site = "a"', 'site = "hub"'), r"\[guardian\] and \[\[party\]\] are both hub"),
        (WHOLE.replace('site = "a"', 'site = "A"'), r"party, entry 1, site"),
        (WHOLE + "port = 7\n", r"query, entry 1, port"),
        *((WHOLE.replace("a.example", host), r"party, entry 1, address") for host in HOSTILE_HOSTS),
        *((WHOLE.replace("[guardian]", DATABASE.format(file)), "url_file") for file in HOSTILE_FILES),
        (WHOLE.replace("[guardian]", '[guardian]\nledger = "postgresql"'), "guardian: give url_file"),
        ("days = 0\n" + WHOLE, "days"),
        ("federation = ", "is no TOML"),
    ],
)
def test_what_does_not_fit_together_is_named(tmp_path: Path, text: str, sentence: str) -> None:
    with pytest.raises(OstrakaError, match=sentence) as refusal:
        load(tmp_path, text)
    assert refusal.value.code is ErrorCode.CONFIG_INVALID
    assert "\n" not in refusal.value.message


def test_a_federation_has_so_many_parties_and_no_more(tmp_path: Path) -> None:
    def parties(count: int) -> str:
        entries = (f'[[party]]\nsite = "p{n}"\naddress = "p{n}.example:7001"\n' for n in range(count))
        return WHOLE.replace(PARTY, "".join(entries))

    load(tmp_path, parties(1000))
    with pytest.raises(OstrakaError, match=r"party: .*at most 1000") as refusal:
        load(tmp_path, parties(1001))
    assert refusal.value.code is ErrorCode.CONFIG_INVALID


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(OstrakaError, match=r"examples/federation\.toml"):
        load_federation(tmp_path / "federation.toml")


RELAY = '[[relay]]\nsite = "r"\naddress = "r.example:443"\n'
BEHIND = '[[party]]\nsite = "a"\nrelay = "r"\n'


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (WHOLE.replace(PARTY, BEHIND), "names the relay r, and there is no [[relay]] of that name"),
        (WHOLE.replace(PARTY, PARTY + 'relay = "r"\n') + RELAY, "give address, or relay"),
        (WHOLE.replace(PARTY, '[[party]]\nsite = "a"\n'), "give address, or relay"),
        (
            WHOLE.replace(PARTY, PARTY + 'proxy = "squid.a.example:3128"\n'),
            "give proxy to a party with a relay",
        ),
        (
            WHOLE.replace(PARTY, BEHIND + 'proxy = "http://ward:s3cret@squid:3128"\n') + RELAY,
            "write host:port",
        ),
        (WHOLE + RELAY + RELAY.replace("443", "444"), "number 1 and number 2 are both r"),
        (WHOLE + RELAY.replace("r.example:443", "hub.example:7000"), "relay r share port 7000"),
    ],
)
def test_a_party_has_an_address_or_a_relay_that_there_is(tmp_path: Path, text: str, sentence: str) -> None:
    with pytest.raises(OstrakaError, match=re.escape(sentence)):
        load(tmp_path, text)
    behind = load_federation_text(tmp_path, WHOLE.replace(PARTY, BEHIND) + RELAY)
    assert behind.address_of(behind.party[0]) == "r.example:443"


def load_federation_text(tmp_path: Path, text: str) -> FederationFile:
    found = load(tmp_path, text)
    assert isinstance(found, FederationFile)
    return found
