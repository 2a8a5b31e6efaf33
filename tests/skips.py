"""Skips of tests that need something that is unavailable on this machine."""

import os
from typing import NoReturn

import pytest


def skip_or_fail(reason: str) -> NoReturn:
    """Skip the test, or fail it if OSTRAKA_NO_SKIP is 1, so that CI does not pass by running less."""
    if os.environ.get("OSTRAKA_NO_SKIP") == "1":
        pytest.fail(reason, pytrace=False)
    pytest.skip(reason)
