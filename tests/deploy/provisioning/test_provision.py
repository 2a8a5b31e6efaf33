import json
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from ostraka.common.clock import SystemClock
from ostraka.common.config import load_site
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.identity import Credentials, Role
from ostraka.deploy.cli import app
from ostraka.deploy.provisioning import provision


def test_every_site_gets_what_it_needs(tmp_path: Path) -> None:
    made = provision("demo", ["a", "b"], "q", tmp_path / "out", guardian="hub")
    folders = [made.guardian, made.admin, *made.parties.values(), made.query]
    roles = [Role.GUARDIAN, Role.ADMIN, Role.PARTY, Role.PARTY, Role.QUERY]
    for folder, role in zip(folders, roles, strict=True):
        credentials, site = Credentials.load(folder), load_site(folder)
        credentials.check_valid(SystemClock())
        assert credentials.identity.role is role
        assert (site.federation, site.role, site.guardian_site) == ("demo", role, "hub")
        assert credentials.identity.site == site.site
        assert site.guardian == ("" if role is Role.GUARDIAN else "127.0.0.1:17700")
        assert not (folder / "ca.key").exists()
    assert load_site(made.guardian).listen == "127.0.0.1:17700"
    assert load_site(made.parties["b"]).listen == "127.0.0.1:17702"
    everyone = {"a": "127.0.0.1:17701", "b": "127.0.0.1:17702"}
    assert load_site(made.query).parties == everyone
    assert load_site(made.parties["b"]).parties == everyone
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["a", "admin", "b", "ca", "hub", "q"]


def test_the_system_may_choose_ports(tmp_path: Path) -> None:
    made = provision("demo", ["a"], "q", tmp_path / "out", base_port=0)
    assert load_site(made.parties["a"]).listen == "127.0.0.1:0"


def test_a_site_may_ask_and_answer(tmp_path: Path) -> None:
    made = provision("demo", ["a", "b"], "a", tmp_path / "out")
    assert made.query.name == "a-query"
    assert Credentials.load(made.query).identity.uri == "ostraka://demo/a/query"


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    made = provision("demo", ["a"], "q", tmp_path / "out")
    before = (made.ca / "ca.crt").read_bytes()
    with pytest.raises(OstrakaError, match="not overwritten") as refusal:
        provision("demo", ["a"], "q", tmp_path / "out")
    assert refusal.value.code is ErrorCode.CONFIG_INVALID
    assert (made.ca / "ca.crt").read_bytes() == before


@pytest.mark.parametrize(
    ("parties", "query", "guardian", "base_port", "told"),
    [
        (["a", "a"], "q", "guardian", 7000, "two folders"),
        (["admin"], "q", "guardian", 7000, "two folders"),
        (["ca"], "q", "guardian", 7000, "two folders"),
        (["a"], "q", "q", 7000, "two folders"),
        (["A"], "q", "guardian", 7000, "cannot be a name"),
        ([], "q", "guardian", 7000, "at least one"),
        (["a"], "q", "guardian", 65535, "port 65535"),
        (["a"], "q", "guardian", -7, "is not an address"),
    ],
)
def test_what_cannot_be_provisioned_leaves_nothing(
    tmp_path: Path, parties: list[str], query: str, guardian: str, base_port: int, told: str
) -> None:
    with pytest.raises(OstrakaError, match=told) as refusal:
        provision("demo", parties, query, tmp_path / "out", guardian=guardian, base_port=base_port)
    assert refusal.value.code is ErrorCode.CONFIG_INVALID
    assert list(tmp_path.iterdir()) == []


def test_a_place_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OstrakaError, match="name another folder"):
        provision("demo", ["a"], "q", tmp_path / "file" / "out")


def test_the_command(tmp_path: Path) -> None:
    out = tmp_path / "out"
    arguments = [
        "provision",
        "local",
        "--federation",
        "demo",
        "--parties",
        "a,b",
        "--query",
        "q",
        "--out",
        str(out),
    ]
    result = CliRunner().invoke(app, [*arguments, "--json", "-"])
    assert result.exit_code == 0
    assert json.loads(result.stdout)["parties"] == {"a": str(out / "a"), "b": str(out / "b")}
    again = CliRunner().invoke(app, arguments)
    assert isinstance(again.exception, OstrakaError)
    assert isinstance(app, typer.Typer)
