from pathlib import Path

import pytest

from ostraka.common.config import SiteConfig, load_site, write_site
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.identity import Credentials
from ostraka.common.identity.revocation import CRL
from tests.common.federation import NAME, PARTY, Federation


@pytest.fixture
def federation(tmp_path: Path) -> Federation:
    return Federation(tmp_path / "federation")


def configured(folder: Path, **changes: str | Path) -> SiteConfig:
    """Return what a site folder says, once it is written and read."""
    values = {"federation": NAME, "site": "a", "role": "query", "guardian": "127.0.0.1:1", **changes}
    folder.mkdir(exist_ok=True)
    write_site(SiteConfig.model_validate({**values, "folder": folder}))
    return load_site(folder)


@pytest.mark.parametrize("changes", [{"federation": "persia"}, {"site": "b"}, {"role": "admin"}])
def test_certificates_must_name_the_site_of_the_folder(
    changes: dict[str, str], federation: Federation
) -> None:
    folder = federation.issue(PARTY).folder
    with pytest.raises(OstrakaError, match=r"ostraka://demo/a/party.*install this site's own") as refusal:
        Credentials.of(configured(folder, **{"role": "party", "listen": "127.0.0.1:0", **changes}))
    assert refusal.value.code is ErrorCode.CONFIG_INVALID


def test_keys_may_lie_elsewhere_and_lists_are_kept_in_the_site_folder(
    federation: Federation, tmp_path: Path
) -> None:
    secrets = federation.issue(PARTY).folder
    site = configured(tmp_path / "site", role="party", listen="127.0.0.1:0", credentials=secrets)
    credentials = Credentials.of(site)
    assert credentials.folder == secrets
    credentials.revocations.accept(federation.revoke())
    assert (site.folder / CRL).exists()
    assert not (secrets / CRL).exists()
    (site.folder / CRL).rename(secrets / CRL)
    assert Credentials.of(site).revocations.number == 1


def test_keys_lie_in_the_site_folder_unless_it_says_otherwise(federation: Federation) -> None:
    folder = federation.issue(PARTY).folder
    site = configured(folder, role="party", listen="127.0.0.1:0")
    assert "credentials" not in (folder / "site.toml").read_text()
    assert Credentials.of(site).identity == PARTY


def test_the_first_certificate_to_expire_counts(federation: Federation) -> None:
    credentials = federation.issue(PARTY, days=3)
    ends = credentials.signing_cert.not_valid_after_utc.timestamp()
    assert credentials.expires_unix_s == ends
