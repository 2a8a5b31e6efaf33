"""Keys for each kind of head, made once."""

import pytest

from common.crypto.ckks.keys import QueryKeys
from common.crypto.ckks.parameters import parameters_of


@pytest.fixture(scope="session")
def linear_keys() -> QueryKeys:
    return QueryKeys(parameters_of("linear"))


@pytest.fixture(scope="session")
def square_keys() -> QueryKeys:
    return QueryKeys(parameters_of("square-mlp"))
