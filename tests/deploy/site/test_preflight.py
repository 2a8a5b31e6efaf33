import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from ostraka.common.clock import ManualClock, SystemClock
from ostraka.common.config import load_site, write_site
from ostraka.common.identity import Credentials, Role
from ostraka.common.status.servers import parties
from ostraka.deploy.cli import app
from ostraka.deploy.provisioning.signing import revoke_site
from ostraka.deploy.site.finding import Finding
from ostraka.deploy.site.preflight import preflight
from ostraka.protos.ostraka.v1 import site_pb2
from tests.addresses import free_ports
from tests.common.rpc.lying import Liar, lying
from tests.deploy.provisioning.kits import Sites, make_sites
from tests.deploy.site.servers import serving

NO_DATE = site_pb2.AboutReply(expires_unix_s=2**63 - 1)


@pytest.fixture
def sites(tmp_path: Path) -> Sites:
    guardian, a = free_ports(2)
    sites = make_sites(tmp_path, SystemClock(), guardian, a)
    sites.join("hub-guardian", "hub-admin", "a-party", "q-query")
    site = load_site(sites["q-query"])
    write_site(site.model_copy(update={"parties": {"a": site.parties["a"]}}))
    return sites


def by_name(findings: list[Finding]) -> dict[str, Finding]:
    assert len({finding.check for finding in findings}) == len(findings)
    return {finding.check: finding for finding in findings}


def test_a_querying_site_calls_the_guardian_and_the_parties(sites: Sites) -> None:
    counted: list[tuple[int, int]] = []
    with serving(sites["hub-guardian"]), serving(sites["a-party"]):
        found = by_name(preflight(sites["q-query"], lambda done, total: counted.append((done, total))))
    assert [check for check, finding in found.items() if finding.state != "ok"] == ["task"]
    for server in ("guardian hub", "party a"):
        assert {
            f"{server}{what}" for what in ("", ": clock", ": version", ": revocations", ": certificate")
        } <= set(found)
    done, total = counted[-1]
    assert done == total == len(counted)


def test_servers_that_do_not_answer_are_named(sites: Sites) -> None:
    found = by_name(preflight(sites["q-query"]))
    assert {found[server].state for server in ("guardian hub", "party a")} == {"failed"}
    assert "does not listen" in found["guardian hub"].sentence


@pytest.mark.parametrize("replies", [(), (b"\xff\xff\xff",), (b"", b""), (NO_DATE.SerializeToString(),)])
def test_a_server_that_lies_is_named_and_the_others_are_checked(
    sites: Sites, replies: tuple[bytes, ...]
) -> None:
    liar, party = Liar(), load_site(sites["a-party"])
    liar.replies = replies
    with serving(sites["hub-guardian"]), lying(liar, Credentials.of(party)) as address:
        site = load_site(sites["q-query"])
        write_site(site.model_copy(update={"parties": {"a": address}}))
        found = by_name(preflight(sites["q-query"]))
        status = parties(load_site(sites["q-query"]), Credentials.of(site), SystemClock())
    assert (found["guardian hub"].state, found["party a"].state) == ("ok", "failed")
    assert "The party a at" in found["party a"].sentence
    problem = status[0].problem
    assert problem is not None
    assert problem.code == "message.invalid"


def test_another_site_at_the_guardians_address_is_named(sites: Sites) -> None:
    with serving(sites["a-party"], listen=load_site(sites["hub-guardian"]).listen):
        found = by_name(preflight(sites["hub-admin"]))
    assert "is another site or role" in found["guardian hub"].sentence


def test_a_guardian_of_another_ca_is_named(sites: Sites, tmp_path: Path) -> None:
    other = make_sites(tmp_path / "other", SystemClock())
    other.join("hub-guardian")
    with serving(other["hub-guardian"], listen=load_site(sites["hub-guardian"]).listen):
        found = by_name(preflight(sites["hub-admin"]))
    assert "of another CA" in found["guardian hub"].sentence


def test_a_guardian_whose_clock_is_off_is_named(sites: Sites) -> None:
    with serving(sites["hub-guardian"], clock=ManualClock(SystemClock().now() + 90)):
        found = by_name(preflight(sites["hub-admin"]))
    assert "s behind that of the guardian hub" in found["guardian hub: clock"].sentence
    assert found["guardian hub: clock"].state == "failed"


def test_a_site_that_was_revoked_is_told_by_the_guardian(sites: Sites) -> None:
    revoked = revoke_site("hub", Role.ADMIN, sites.made.ca, sites.clock)
    (sites["hub-guardian"] / "crl.pem").write_bytes(revoked.list_file.read_bytes())
    with serving(sites["hub-guardian"]):
        found = by_name(preflight(sites["hub-admin"]))
        assert "was revoked" in found["guardian hub"].sentence
        (sites["hub-admin"] / "crl.pem").write_bytes(revoked.list_file.read_bytes())
        found = by_name(preflight(sites["hub-admin"]))
    assert "was revoked" in found["certificates"].sentence
    assert "was not called" in found["guardian hub"].sentence


def test_a_guardian_with_a_newer_list_is_named(sites: Sites) -> None:
    revoked = revoke_site("q", Role.QUERY, sites.made.ca, sites.clock)
    (sites["hub-guardian"] / "crl.pem").write_bytes(revoked.list_file.read_bytes())
    with serving(sites["hub-guardian"]):
        found = by_name(preflight(sites["hub-admin"]))["guardian hub: revocations"]
    assert (found.state, "list 2 and this site 1" in found.sentence) == ("warning", True)


def test_a_kit_that_is_not_ready_says_what_to_do_next(sites: Sites) -> None:
    found = by_name(preflight(sites["b-party"]))
    failed = {check for check, finding in found.items() if finding.state == "failed"}
    assert failed == {"keys", "certificates", "guardian hub", "task", "teachers"}
    assert "ostraka site init" in found["keys"].sentence


def test_a_folder_that_is_no_kit(tmp_path: Path) -> None:
    (finding,) = preflight(tmp_path)
    assert (finding.check, finding.state) == ("site.toml", "failed")


def test_a_guardian_looks_at_its_ledger(sites: Sites) -> None:
    kit = sites["hub-guardian"]
    found = by_name(preflight(kit))
    assert {"ledger", "ledger key", "port"} <= set(found)
    assert {finding.state for finding in found.values()} <= {"ok", "warning"}
    (kit / "ledger.db").write_bytes(b"no ledger" * 1000)
    spoilt = by_name(preflight(kit))
    changed = {check for check, finding in spoilt.items() if finding.state != found[check].state}
    assert changed == {"ledger", "ledger key"}


def test_the_command_leaves_with_two_if_anything_failed(sites: Sites) -> None:
    result = CliRunner().invoke(app, ["site", "check", str(sites["b-party"]), "--json", "-"])
    assert result.exit_code == 2
    assert {"check", "state", "sentence"} == set(json.loads(result.stdout)[0])
    result = CliRunner().invoke(app, ["site", "check", str(sites["hub-guardian"])])
    assert result.exit_code == 0
    assert "ledger key" in result.stdout


def test_a_url_file_that_is_not_there_is_one_finding_among_the_others(sites: Sites) -> None:
    write_toml(sites["hub-guardian"], 'url_file = "database.url"\n')
    found = by_name(preflight(sites["hub-guardian"]))
    assert "check url_file" in found["site.toml tables"].sentence
    assert {"port", "memory"} <= set(found)


def test_a_mistake_in_a_table_is_told_once(sites: Sites) -> None:
    write_toml(sites["a-party"], '[party]\ndevice = "tpu"\n')
    told = [finding.check for finding in preflight(sites["a-party"]) if "party.device" in finding.sentence]
    assert told == ["site.toml tables"]


@pytest.mark.parametrize("kit", ["hub-guardian", "a-party", "q-query"])
def test_a_key_of_the_telemetry_table_that_nobody_knows_is_named(sites: Sites, kit: str) -> None:
    write_toml(sites[kit], '[telemetry]\nmetrix = "127.0.0.1:9100"\n')
    found = by_name(preflight(sites[kit]))["site.toml tables"]
    assert (found.state, "telemetry.metrix: there is no such key" in found.sentence) == ("failed", True)


def test_metrics_on_the_servers_own_port_are_found(sites: Sites) -> None:
    port = load_site(sites["a-party"]).listen.rpartition(":")[2]
    write_toml(sites["a-party"], f'[telemetry]\nmetrics = "127.0.0.1:{port}"\n')
    assert f"share port {port}" in by_name(preflight(sites["a-party"]))["site.toml tables"].sentence


def test_a_revocation_list_that_no_server_would_believe_is_found(sites: Sites) -> None:
    path = sites["a-party"] / "crl.pem"
    path.write_text("nothing")
    assert by_name(preflight(sites["a-party"]))[f"revocations: {path}"].state == "failed"


def test_people_are_shown_sentences_whole(sites: Sites) -> None:
    write_toml(sites["a-party"], '[party]\ndevice = "cuda"\n')
    shown = CliRunner().invoke(app, ["site", "check", str(sites["a-party"])])
    assert "name another device, such as auto or cpu" in " ".join(shown.stdout.replace("│", " ").split())


def write_toml(folder: Path, table: str) -> None:
    with (folder / "site.toml").open("a", encoding="utf-8") as file:
        file.write(f"\n{table}")
