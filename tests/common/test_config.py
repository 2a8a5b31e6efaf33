from pathlib import Path

import pytest
from pydantic import BaseModel, ConfigDict

from ostraka.common.config import (
    SITE_FILE,
    SiteConfig,
    is_loopback,
    load_section,
    load_site,
    require_role,
    split_address,
    split_addresses,
    write_site,
)
from ostraka.common.errors import ErrorCode, OstrakaError

QUERY = """
federation = "demo"
site = "q"
role = "query"
guardian = "127.0.0.1:7000"
[parties]
a = "127.0.0.1:7001"
"""


class Policy(BaseModel):
    model_config = ConfigDict(extra="forbid")
    limit: int = 3


def refusal(folder: Path, text: str) -> str:
    (folder / "site.toml").write_text(text)
    with pytest.raises(OstrakaError) as refused:
        load_site(folder)
    assert refused.value.code is ErrorCode.CONFIG_INVALID
    return refused.value.message


def test_a_misspelt_key_is_named_beside_the_one_that_is_missing(tmp_path: Path) -> None:
    misspelt = QUERY.replace("role =", "part =")
    assert refusal(tmp_path, misspelt).endswith("role: it is missing, and there is no key part; correct it.")
    misspelt = QUERY.replace("federation =", "federatoin =")
    assert "federation: it is missing, and there is no key federatoin (did you mean federation?)" in refusal(
        tmp_path, misspelt
    )


def test_a_written_site_loads_again(tmp_path: Path) -> None:
    site = SiteConfig(
        federation="demo",
        site="q",
        role="query",
        guardian="127.0.0.1:7000",
        guardian_site="hub",
        parties={"a": "[::1]:7001", "b-2": "host.example:7002"},
        folder=tmp_path,
    )
    write_site(site)
    assert load_site(tmp_path) == site


def test_a_section_is_read_by_its_owner(tmp_path: Path) -> None:
    (tmp_path / "site.toml").write_text(QUERY + "[policy]\nlimit = 5\n")
    assert load_site(tmp_path).site == "q"
    assert load_section(tmp_path, "policy", Policy).limit == 5
    assert load_section(tmp_path, "party", Policy).limit == 3


def test_a_wrong_key_of_a_section_is_named(tmp_path: Path) -> None:
    (tmp_path / "site.toml").write_text(QUERY + "[policy]\nlimits = 5\n")
    with pytest.raises(OstrakaError, match=r"site.toml: policy.limits"):
        load_section(tmp_path, "policy", Policy)


def test_what_is_wrong_with_a_site_is_named(tmp_path: Path) -> None:
    assert "listens" in refusal(tmp_path, 'listens = ":1"\n' + QUERY)
    assert "polcy" in refusal(tmp_path, QUERY + "[polcy]\nlimit = 5\n")
    assert "listen is missing" in refusal(tmp_path, QUERY.replace('"query"', '"party"'))
    assert "guardian is missing" in refusal(tmp_path, QUERY.replace('guardian = "127.0.0.1:7000"', ""))
    assert "host:port" in refusal(tmp_path, QUERY.replace("127.0.0.1:7001", "127.0.0.1"))
    assert "host:port" in refusal(tmp_path, QUERY.replace("127.0.0.1:7000", "127.0.0.1:7000,"))
    assert "site" in refusal(tmp_path, QUERY.replace('"q"', '"Q"'))
    assert "role" in refusal(tmp_path, QUERY.replace('"query"', '"king"'))
    assert "not TOML" in refusal(tmp_path, "site = ")


def test_a_folder_without_configuration(tmp_path: Path) -> None:
    with pytest.raises(OstrakaError, match="provision") as refused:
        load_site(tmp_path / "nowhere")
    assert refused.value.code is ErrorCode.CONFIG_INVALID


def test_addresses() -> None:
    assert split_address("[::1]:70") == ("::1", 70)
    assert [is_loopback(a) for a in ("127.0.0.9:1", "localhost:1", "[::1]:1")] == [True] * 3
    assert [is_loopback(a) for a in ("0.0.0.0:1", "10.0.0.1:1", "example.org:1", "[::]:1")] == [False] * 4
    for wrong in (
        "",
        "host",
        "host:",
        ":1",
        "host:x",
        "host:70000",
        "host:²",
        "host:" + "9" * 5000,
        "a\nb:1",
        "::1:1",
    ):
        with pytest.raises(OstrakaError):
            split_address(wrong)
    assert split_addresses("a:1, [::1]:2") == ("a:1", "[::1]:2")


def test_the_guardian_alone_says_what_draws_its_noise(tmp_path: Path) -> None:
    guardian = 'federation = "demo"\nsite = "hub"\nrole = "guardian"\nlisten = "127.0.0.1:7000"\n'
    for text, noise in ((guardian, "ostraka"), (guardian + 'noise = "opendp"\n', "opendp")):
        (tmp_path / "site.toml").write_text(text)
        assert load_site(tmp_path).noise == noise
    assert "noise" in refusal(tmp_path, guardian + 'noise = "numpy"\n')
    assert "noise is drawn by the guardian" in refusal(tmp_path, 'noise = "ostraka"\n' + QUERY)


def test_a_folder_of_another_role_is_told_whose_is_wanted(tmp_path: Path) -> None:
    (tmp_path / SITE_FILE).write_text('role = "guardian"\n')
    require_role(tmp_path, "guardian")
    with pytest.raises(OstrakaError, match="acts as guardian: name the folder of an admin") as refused:
        require_role(tmp_path, "admin")
    assert refused.value.code is ErrorCode.CONFIG_INVALID
