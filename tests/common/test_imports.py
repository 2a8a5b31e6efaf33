"""Imports of much at once."""

import gc
from collections.abc import Iterator

import pytest

from ostraka.common.imports import without_collection


@pytest.fixture
def enabled() -> Iterator[None]:
    yield
    gc.enable()


@pytest.mark.parametrize("before", [True, False])
def test_garbage_is_looked_for_again_as_before_even_after_an_error(before: bool, enabled: None) -> None:
    if not before:
        gc.disable()
    seen = []

    def fail() -> None:
        with without_collection():
            seen.append(gc.isenabled())
            raise ModuleNotFoundError

    with pytest.raises(ModuleNotFoundError):
        fail()
    assert seen == [False]
    assert gc.isenabled() == before
