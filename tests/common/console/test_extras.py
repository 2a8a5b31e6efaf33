"""A package that is missing is told with the extras that bring it."""

import pytest

from ostraka.common.console.cli import missing_package
from ostraka.common.errors import ErrorCode


@pytest.mark.parametrize(
    ("module", "extras"),
    [
        ("torch.nn", ("party", "query")),
        ("sklearn", ("party", "query")),
        ("nacl.bindings", ("guardian", "party", "query")),
        ("sqlalchemy", ("guardian", "console")),
        ("dp_accounting.rdp", ("accounting",)),
        ("numpy", ("guardian", "party", "query", "accounting")),
        ("xgboost", ("boosting",)),
    ],
)
def test_every_extra_that_brings_a_package_is_named(module: str, extras: tuple[str, ...]) -> None:
    missing = missing_package(ModuleNotFoundError(name=module))
    assert missing is not None
    assert missing.code is ErrorCode.CONFIG_INVALID
    commands = " or ".join(f"pip install 'ostraka[{extra}]'" for extra in extras)
    assert missing.message.endswith(f"is not installed; run {commands}.")


@pytest.mark.parametrize("module", ["pydantic", "ostraka.services", "mypy", "no_such_package", None])
def test_what_no_extra_brings_is_no_missing_package(module: str | None) -> None:
    assert missing_package(ModuleNotFoundError(name=module)) is None
