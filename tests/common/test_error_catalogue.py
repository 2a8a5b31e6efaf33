"""Every code is explained, and the page says what the catalogue says."""

import re

from ostraka.common.error_catalogue import catalogue, exit_status, page
from ostraka.common.errors import ErrorCode
from ostraka.deploy.error_page import FILE


def test_every_code_is_explained() -> None:
    assert list(catalogue()) == list(ErrorCode)


def test_the_page_is_current() -> None:
    assert FILE.read_text(encoding="utf-8") == page(), "run `make errors` and commit what it writes"


def test_every_link_of_the_page_leads_somewhere() -> None:
    text = page()
    anchors = set(re.findall(r'<a id="([^"]+)">', text)) | set(re.findall(r"(?m)^## (\w+)$", text))
    links = re.findall(r"\]\(#([^)]+)\)", text)
    assert len(links) > len(ErrorCode)
    assert set(links) == anchors


def test_only_our_own_mistakes_leave_with_one() -> None:
    assert {code for code in ErrorCode if exit_status(code) == 1} == {ErrorCode.INTERNAL}
