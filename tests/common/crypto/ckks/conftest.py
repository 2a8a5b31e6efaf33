"""Keys, made once."""

import pytest

from ostraka.common.crypto.ckks.keys import CkksKeys


@pytest.fixture(scope="session")
def keys() -> CkksKeys:
    return CkksKeys()
