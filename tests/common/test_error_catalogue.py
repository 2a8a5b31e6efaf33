"""Every code is explained, and the page says what the catalogue says."""

import re
import subprocess
import sys

import pytest
from pydantic import ValidationError

from ostraka.common.error_catalogue import Explanation, catalogue, page
from ostraka.common.errors import ErrorCode
from ostraka.deploy.error_page import FILE


def test_every_code_is_explained() -> None:
    assert list(catalogue()) == list(ErrorCode)


@pytest.mark.parametrize("code", list(ErrorCode))
def test_every_code_says_what_a_caller_does(code: ErrorCode) -> None:
    assert code.retry is catalogue()[code].retry


@pytest.mark.parametrize("changes", [{"retry": None}, {"retry": "sometimes"}], ids=str)
def test_a_code_that_does_not_say_it_is_refused(changes: dict[str, str | None]) -> None:
    entry = catalogue()[ErrorCode.INTERNAL].model_dump() | changes
    with pytest.raises(ValidationError, match="retry"):
        Explanation.model_validate({name: value for name, value in entry.items() if value is not None})


def test_no_program_reads_the_catalogue_before_its_first_error() -> None:
    check = "import sys, ostraka.common.errors; sys.exit('tomllib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", check], check=False).returncode == 0


def test_the_page_is_current() -> None:
    assert FILE.read_text(encoding="utf-8") == page(), "run `make errors` and commit what it writes"


def test_every_code_has_its_anchor() -> None:
    anchors = re.findall(r'<a id="([^"]+)">', page())
    assert anchors == [code.value.replace(".", "-") for code in ErrorCode]
