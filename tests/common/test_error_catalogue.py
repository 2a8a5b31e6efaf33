"""Every code is explained, and the page says what the catalogue says."""

import re

from ostraka.common.error_catalogue import catalogue, page
from ostraka.common.errors import ErrorCode
from ostraka.deploy.error_page import FILE


def test_every_code_is_explained() -> None:
    assert list(catalogue()) == list(ErrorCode)


def test_the_page_is_current() -> None:
    assert FILE.read_text(encoding="utf-8") == page(), "run `make errors` and commit what it writes"


def test_every_code_has_its_anchor() -> None:
    anchors = re.findall(r'<a id="([^"]+)">', page())
    assert anchors == [code.value.replace(".", "-") for code in ErrorCode]
