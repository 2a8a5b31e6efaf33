"""Every pattern of CODEOWNERS is of something that there is."""

import pytest

from tests.style import ROOT

LINES = (ROOT / ".github" / "CODEOWNERS").read_text(encoding="utf-8").splitlines()
PATTERNS = [line.split()[0] for line in LINES if line and not line.startswith("#")]


@pytest.mark.parametrize("pattern", PATTERNS)
def test_what_has_an_owner_exists(pattern: str) -> None:
    path = ROOT / pattern.strip("/")
    assert path.is_dir() if pattern.endswith("/") else path.is_file()
