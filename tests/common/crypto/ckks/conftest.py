"""Keys, made once."""

import pytest

from ostraka.common.crypto.ckks.ckks_keys import CkksKeys


@pytest.fixture(scope="session")
def keys() -> CkksKeys:
    return CkksKeys()
