"""Keys, made once."""

import pytest

from ostraka.common.crypto.ckks.ckks_scheme import CkksKeys


@pytest.fixture(scope="session")
def keys() -> CkksKeys:
    return CkksKeys()
