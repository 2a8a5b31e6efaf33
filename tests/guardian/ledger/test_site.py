from pathlib import Path

import pytest

from ostraka.common.errors import ErrorCode
from ostraka.guardian.ledger.site import ledger_address, ledger_location
from tests.guardian.ledger.support import refused

URL = "postgresql+psycopg://ostraka@db/ledger"
LISTEN = "0.0.0.0:7000"


def folder_with(folder: Path, ledger: str) -> Path:
    (folder / "site.toml").write_text(f"[ledger]\n{ledger}\n", encoding="utf-8")
    return folder


def test_the_ledger_is_a_file_in_the_folder_unless_site_toml_says_otherwise(tmp_path: Path) -> None:
    assert ledger_location(folder_with(tmp_path, "")) == tmp_path / "ledger.db"
    assert ledger_location(folder_with(tmp_path, f'url = "{URL}"')) == URL


def test_a_url_may_lie_in_a_file_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text(URL + "\n", encoding="utf-8")
    for path in ("secret", tmp_path / "secret"):
        assert ledger_location(folder_with(tmp_path, f'url_file = "{path}"')) == URL
    missing = folder_with(tmp_path, 'url_file = "nowhere"')
    assert "nowhere" in refused(ErrorCode.CONFIG_INVALID, lambda: ledger_location(missing)).message


@pytest.mark.parametrize(
    ("ledger", "told"),
    [
        (f'url = "{URL}"\nurl_file = "secret"', "not both"),
        ('path = "x"', "no such key"),
        ('address = "here"', "not an address"),
    ],
)
def test_other_settings_are_refused(tmp_path: Path, ledger: str, told: str) -> None:
    folder = folder_with(tmp_path, ledger)
    assert told in refused(ErrorCode.CONFIG_INVALID, lambda: ledger_location(folder)).message


def test_a_guardian_is_reached_where_it_listens_unless_site_toml_says_otherwise(tmp_path: Path) -> None:
    assert ledger_address(folder_with(tmp_path, ""), LISTEN) == LISTEN
    assert ledger_address(folder_with(tmp_path, ""), "127.0.0.1:0") == ""
    assert ledger_address(folder_with(tmp_path, 'address = "pg:7000"'), LISTEN) == "pg:7000"
