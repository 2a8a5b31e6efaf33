"""Both sides of encrypted inference for each kind of head, with keys made once."""

import pytest

from tests.common.crypto.models import Sides


@pytest.fixture(scope="session")
def linear() -> Sides:
    return Sides.of("linear")


@pytest.fixture(scope="session")
def square() -> Sides:
    return Sides.of("square-mlp")


@pytest.fixture(params=["linear", "square"])
def either(request: pytest.FixtureRequest) -> Sides:
    """Both kinds, one after the other."""
    found: Sides = request.getfixturevalue(request.param)
    return found
