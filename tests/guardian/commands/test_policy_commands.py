"""`ostraka guardian policy`."""

from pathlib import Path

import pytest

from ostraka.guardian.policy import parse_policy
from tests.guardian.commands.conftest import Admin

NEW = "min_sigma = 0.5\nmin_quorum = 3\n[consent]\nlow = 5.0\nhigh = 2000.0\n"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "policy.toml"
    path.write_text(NEW)
    return path


def test_check_then_apply(admin: Admin, file: Path) -> None:
    checked = admin.text("policy", "check", file)
    assert "min_quorum: 2 -> 3" in checked
    assert "In force: the policy of the guardian's site.toml." in checked
    assert "no sums over records" in checked
    assert "In force: policy 1." in admin.text("policy", "apply", file, "--reason", "voted")
    assert admin.text("policy", "check", file).startswith("Nothing changes.")
    assert admin.json("policy", "show")["version"] == 1


def test_what_is_shown_can_be_applied(admin: Admin, file: Path) -> None:
    file.write_text(admin.run("policy", "show").stdout)
    assert parse_policy(file.read_text()).min_quorum == 2
    assert admin.text("policy", "check", file).startswith("Nothing changes.")


def test_what_is_no_policy(admin: Admin, file: Path, tmp_path: Path) -> None:
    assert admin.refused("policy", "check", tmp_path / "none.toml").code == "data.missing"
    file.write_bytes(b"\xff\xfe")
    assert admin.refused("policy", "check", file).code == "data.unreadable"
    file.write_text("min_quorum = 0")
    assert admin.refused("policy", "apply", file, "--reason", "voted").code == "policy.invalid"
    assert admin.json("policy", "show")["version"] == 0


def test_an_administrator_is_told_what_sums_come_to(admin: Admin, file: Path) -> None:
    file.write_text(f'mechanisms = ["votes", "sums"]\n{NEW}')
    assert "makes a model of everybody" in admin.text("policy", "check", file)
    told = admin.text("policy", "apply", file, "--reason", "voted")
    assert "warning: it allows sums over records" in told
    assert "warning" not in admin.text("policy", "check", file)
    shown = admin.run("policy", "show").stdout
    assert "# It allows votes, and sums over records" in shown
    assert parse_policy(shown).mechanisms == ("votes", "sums")
