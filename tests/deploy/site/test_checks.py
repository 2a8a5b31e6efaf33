import os
import socket
import sqlite3
import sys
from contextlib import closing
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path

import pytest

from ostraka.common.clock import ManualClock, SystemClock
from ostraka.common.config import load_site, write_site
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.identity import Credentials, Identity, Role
from ostraka.common.wire.contexts import PROTOCOL_VERSION
from ostraka.deploy.site import certificate_check, machine_check, peer_check, role_check
from ostraka.deploy.site.finding import Place
from ostraka.deploy.site.peer_check import (
    ALLOWED_SKEW_S,
    Answer,
    CheckedServer,
    clocks,
    revocation_lists,
    versions,
)
from ostraka.guardian.ledger import open_guardian_ledger
from ostraka.guardian.ledger.store import schema_version
from ostraka.guardian.ledger.store.cipher import load_or_create_key
from ostraka.guardian.ledger.store.schema import SCHEMA_VERSION
from ostraka.protos.ostraka.v1 import site_pb2
from tests.addresses import free_ports
from tests.deploy.provisioning.kits import Sites, make_sites
from tests.deploy.site.servers import serving

DAY_S = 86_400
GIB = 2**30
PEER = CheckedServer(Identity("demo", "hub", Role.GUARDIAN), "hub.example:7000")


def test_a_ca_is_shown_by_its_fingerprint(sites: Sites) -> None:
    site = load_site(sites["b-party"])
    assert sites.made.fingerprint in certificate_check.anchor(site).sentence
    (sites["b-party"] / "ca.crt").write_text("nothing")
    assert certificate_check.anchor(site).state == "failed"
    (sites["b-party"] / "ca.crt").unlink()
    assert certificate_check.anchor(site).state == "failed"


def test_keys_are_for_their_owner_alone(sites: Sites) -> None:
    site = load_site(sites["a-party"])
    key = sites["a-party"] / "credentials" / "tls.key"
    assert certificate_check.key_files(site).state == "ok"
    key.chmod(0o640)
    assert certificate_check.key_files(site).state == "warning"
    key.chmod(0o644)
    found = certificate_check.key_files(site)
    assert (found.state, f"chmod 600 {key}" in found.sentence) == ("failed", True)


def test_a_site_without_keys_or_certificates_is_told_the_next_step(sites: Sites) -> None:
    site = load_site(sites["b-party"])
    assert "ostraka site init" in certificate_check.key_files(site).sentence
    sites.request("b-party")
    found, credentials = certificate_check.certificates(site, sites.clock)
    assert (found.state, credentials) == ("failed", None)
    assert "ostraka site install" in found.sentence


@pytest.mark.parametrize(("days", "state"), [(300, "ok"), (336, "warning"), (366, "failed")])
def test_certificates_expire_with_a_warning(tmp_path: Path, days: int, state: str) -> None:
    clock = ManualClock(1_800_000_000.0)
    sites = make_sites(tmp_path, clock)
    sites.join("a-party")
    clock.advance(days * DAY_S)
    found, _ = certificate_check.certificates(load_site(sites["a-party"]), clock)
    assert found.state == state
    assert ("site renew" in found.sentence) == (state == "warning")


def test_certificates_of_another_site_are_found(sites: Sites) -> None:
    site = load_site(sites["a-party"])
    write_site(site.model_copy(update={"site": "z"}))
    found, _ = certificate_check.certificates(load_site(sites["a-party"]), sites.clock)
    assert (found.state, "ostraka://demo/a/party" in found.sentence) == ("failed", True)


def test_a_port_is_free_our_own_or_somebody_elses(sites: Sites) -> None:
    site = load_site(sites["a-party"])
    assert machine_check.port(site).state == "ok"
    with serving(sites["a-party"]):
        assert "serves at" in machine_check.port(site).sentence
    with serving(sites["hub-guardian"], listen=site.listen):
        found = machine_check.port(site)
        assert (found.state, "Something else listens" in found.sentence) == ("failed", True)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        other = site.model_copy(update={"listen": f"127.0.0.1:{silent.getsockname()[1]}"})
        assert machine_check.port(other).state == "failed"


@pytest.mark.parametrize("listen", ["192.0.2.1:7001", "no-such-host.invalid:7001"])
def test_an_address_that_is_not_this_machines(sites: Sites, listen: str) -> None:
    found = machine_check.port(load_site(sites["a-party"]).model_copy(update={"listen": listen}))
    assert (found.state, "correct `listen`" in found.sentence) == ("failed", True)


@pytest.mark.parametrize(
    ("ahead_s", "unsure_s", "state", "words"),
    [
        (ALLOWED_SKEW_S, 0.0, "ok", "differ by 60.0 s"),
        (90.0, 0.5, "failed", "90 s behind"),
        (-90.0, 0.5, "failed", "90 s ahead of"),
        (61.0, 2.0, "ok", "give or take 2.0 s"),
    ],
)
def test_clocks_may_differ_by_a_minute(ahead_s: float, unsure_s: float, state: str, words: str) -> None:
    found = clocks(PEER, Answer(site_pb2.AboutReply(), ahead_s, unsure_s))
    assert (found.state, words in found.sentence) == (state, True)


def test_versions_go_together_unless_their_protocols_differ() -> None:
    assert versions(PEER, version("ostraka"), PROTOCOL_VERSION).state == "ok"
    assert versions(PEER, "99.0", PROTOCOL_VERSION).state == "warning"
    assert versions(PEER, version("ostraka"), "ostraka.v9").state == "failed"
    assert "no protocol" in versions(PEER, "", "").sentence


def test_who_has_the_older_list_is_named() -> None:
    assert revocation_lists(PEER, 2, 2).state == "ok"
    assert revocation_lists(PEER, 0, 0).state == "ok"
    assert "crl.pem" in revocation_lists(PEER, 1, 2).sentence
    assert "ostraka guardian revoke" in revocation_lists(PEER, 2, 1).sentence
    assert {revocation_lists(PEER, *numbers).state for numbers in ((1, 2), (2, 1))} == {"warning"}


def test_space_and_memory_run_out_with_a_warning(tmp_path: Path) -> None:
    states = [machine_check.enough_disk(tmp_path, free).state for free in (10 * GIB, GIB // 2, GIB // 20)]
    assert states == ["ok", "warning", "failed"]
    states = [machine_check.enough_memory(available).state for available in (8 * GIB, GIB // 2, GIB // 20)]
    assert states == ["ok", "warning", "failed"]
    assert machine_check.enough_memory(float("inf")).state == "ok"
    assert str(tmp_path) in machine_check.disk(tmp_path).sentence
    assert "memory" in machine_check.memory().check


def test_a_gpu_is_looked_for_where_one_is_asked_for(sites: Sites) -> None:
    import torch

    kit = sites["a-party"]
    assert machine_check.device(kit).sentence.startswith("Teachers vote on ")
    with (kit / "site.toml").open("a") as file:
        file.write('\n[party]\ndevice = "cuda"\n')
    assert machine_check.device(kit).state == ("ok" if torch.cuda.is_available() else "failed")


def test_tables_of_a_role_are_read(sites: Sites) -> None:
    for name, key in (("a-party", "min_parties = 0"), ("hub-guardian", "quorum = 'x'")):
        role = load_site(sites[name]).role
        found = role_check.tables(sites[name], role)
        assert (found.state, "votes, dp_ttac, and sums" in found.sentence) == ("ok", True)
        file = sites[name] / "site.toml"
        file.write_text(file.read_text().replace("[policy]", f"[policy]\n{key}"))
        found = role_check.tables(sites[name], role)
        assert (found.state, "policy." in found.sentence) == ("failed", True)


def test_a_party_needs_a_task_teachers_and_records(sites: Sites) -> None:
    kit = sites["a-party"]
    assert role_check.task_file(role_check.party_task(kit)).state == "failed"
    assert "ostraka party train" in role_check.teachers(kit).sentence
    (kit / "teachers").mkdir()
    assert role_check.teachers(kit).state == "failed"
    assert role_check.records(kit).state == "ok"
    with (kit / "site.toml").open("a") as file:
        file.write('\n[training]\ndata = "records.npz"\n')
    assert role_check.records(kit).state == "failed"


def test_a_guardian_s_noise_is_tested(sites: Sites, monkeypatch: pytest.MonkeyPatch) -> None:
    site = load_site(sites["hub-guardian"])
    assert role_check.noise(site).state == "ok"
    monkeypatch.setitem(sys.modules, "ostraka.guardian.noise.opendp_noise", None)
    missing = role_check.noise(site.model_copy(update={"noise": "opendp"}))
    assert missing.state == "failed"
    assert "ostraka[opendp]" in missing.sentence


def test_a_ledger_is_looked_at_and_not_changed(sites: Sites) -> None:
    kit = sites["hub-guardian"]
    assert "made at the first start" in role_check.ledger(kit).sentence
    assert "made at the first start" in role_check.ledger_key(kit).sentence
    assert not (kit / "ledger.db").exists()
    (kit / "ledger.db").write_bytes(b"no ledger" * 1000)
    assert role_check.ledger(kit).state == "failed"
    assert "put back the one" in role_check.ledger_key(kit).sentence
    (kit / "ledger.db").unlink()
    load_or_create_key(kit)
    assert "ledger restore" in role_check.ledger(kit).sentence
    (kit / "ledger.key").chmod(0o644)
    assert "chmod 600" in role_check.ledger_key(kit).sentence


@pytest.mark.parametrize(
    ("ours", "schema", "words"),
    [
        (SCHEMA_VERSION + 1, SCHEMA_VERSION, "ledger migrate"),
        (SCHEMA_VERSION, 10_000, "written by a newer Ostraka"),
    ],
)
def test_a_ledger_of_another_version_is_named(
    sites: Sites, monkeypatch: pytest.MonkeyPatch, ours: int, schema: int, words: str
) -> None:
    kit = sites["hub-guardian"]
    open_guardian_ledger(kit, Credentials.of(load_site(kit)), SystemClock()).close()
    assert role_check.ledger(kit).state == role_check.ledger_key(kit).state == "ok"
    with closing(sqlite3.connect(kit / "ledger.db")) as connection, connection:
        connection.execute("UPDATE meta SET schema_version = ?", (schema,))
    monkeypatch.setattr(schema_version, "SCHEMA_VERSION", ours)
    before = (kit / "ledger.db").read_bytes()
    found = role_check.ledger(kit)
    assert (found.state, words in found.sentence) == ("failed", True)
    assert (kit / "ledger.db").read_bytes() == before


def name_database(kit: Path, url: str) -> None:
    site = (kit / "site.toml").read_text().partition("\n[ledger]")[0]
    (kit / "site.toml").write_text(f'{site}\n[ledger]\nurl_file = "database.url"\n')
    (kit / "database.url").write_text(url)


def test_a_database_is_reached_with_a_password_that_is_not_shown(sites: Sites, postgres_url: str) -> None:
    kit = sites["hub-guardian"]
    name_database(kit, postgres_url)
    assert "made at the first start" in role_check.ledger(kit).sentence
    (silent,) = free_ports(1)
    name_database(kit, f"postgresql://ostraka:secret@127.0.0.1:{silent}/ledger")
    found = role_check.ledger(kit)
    assert (found.state, f"127.0.0.1:{silent}" in found.sentence) == ("failed", True)
    assert "secret" not in found.sentence
    name_database(kit, "nonsense")
    assert role_check.ledger(kit).state == "failed"
    os.unlink(kit / "database.url")
    assert role_check.ledger_key(kit).state == role_check.ledger(kit).state == "failed"


def test_a_database_is_waited_for_so_long_and_no_longer(
    sites: Sites, monkeypatch: pytest.MonkeyPatch
) -> None:
    kit, waited = sites["hub-guardian"], []

    def hang(address: tuple[str, int], timeout: float) -> None:
        waited.append(timeout)
        raise TimeoutError("timed out")

    name_database(kit, "postgresql://ostraka:secret@192.0.2.1/ledger")
    monkeypatch.setattr(socket, "create_connection", hang)
    found = role_check.ledger(kit)
    assert (found.state, "192.0.2.1:5432 (timed out)" in found.sentence) == ("failed", True)
    assert waited == [role_check.TIMEOUT_S]


def test_a_server_that_stays_silent_is_given_up(sites: Sites, monkeypatch: pytest.MonkeyPatch) -> None:
    """It takes connections and says nothing."""
    monkeypatch.setattr(peer_check, "TIMEOUT_S", 0.05)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"127.0.0.1:{silent.getsockname()[1]}"
        site = load_site(sites["a-party"])
        place = Place(sites["a-party"], site, Credentials.of(site), sites.clock)
        with pytest.raises(OstrakaError) as late:
            peer_check.ask(place, replace(PEER, address=address))
    assert late.value.code is ErrorCode.SERVER_TIMEOUT
