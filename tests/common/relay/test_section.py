"""The table [relay] of a site: which proxy is on the way, and what is refused."""

from collections.abc import Mapping
from pathlib import Path

import pytest
from pydantic import ValidationError

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.relay.section import RelaySection
from ostraka.common.rpc.http_connect import HttpProxy, read_proxy

RELAY = "relay.example:443"
NAMED = {"HTTPS_PROXY": "http://ward:p%40ss@proxy.clinic:8080"}
PROXY = HttpProxy("proxy.clinic", 8080, "ward", "p@ss")


@pytest.mark.parametrize(
    ("key", "environment", "expected"),
    [
        ("", {}, None),
        ("", NAMED, PROXY),
        ("", NAMED | {"NO_PROXY": "relay.example"}, None),
        ("", NAMED | {"https_proxy": "other"}, HttpProxy("other", 3128)),
        ("none", NAMED, None),
        ("http://ward:p%40ss@proxy.clinic:8080", NAMED | {"NO_PROXY": "relay.example"}, PROXY),
    ],
)
def test_a_proxy_is_the_one_of_site_toml_or_of_the_environment(
    key: str, environment: Mapping[str, str], expected: HttpProxy | None
) -> None:
    section = RelaySection(address=RELAY, proxy=key)
    assert section.proxy_to(RELAY, environment) == expected


def test_no_password_is_shown() -> None:
    assert "p@ss" not in repr(PROXY)
    assert PROXY.address == "proxy.clinic:8080"
    for url in ("https://ward:secret@proxy:8080", "http://ward:secret@:80", "http://ward:secret@proxy:99999"):
        with pytest.raises(OstrakaError) as caught:
            read_proxy(url, "HTTPS_PROXY")
        assert caught.value.code == ErrorCode.CONFIG_INVALID
        assert "secret" not in caught.value.message


def test_what_cannot_be_used_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValidationError, match="address is missing"):
        RelaySection.model_validate({"guardian": True})
    section = RelaySection(address=f"{RELAY},spare.example:443", ca=Path("roots.pem"))
    assert section.addresses == (RELAY, "spare.example:443")
    with pytest.raises(OstrakaError, match=r"roots\.pem") as caught:
        section.roots(tmp_path)
    assert caught.value.code == ErrorCode.CONFIG_INVALID
