"""The public interface changes on purpose alone, and costs nothing before it is used."""

import inspect
import subprocess
import sys
from collections.abc import Iterator
from typing import Any, get_args

import pytest

import ostraka
from ostraka.common.mechanism import MECHANISMS
from tests.ostraka.surface import FILE, MODULES, surface

HEAVY = ("torch", "numpy", "grpc", "sklearn", "sqlalchemy", "matplotlib", "tenseal", "pyarrow", "opendp")
LIGHT = f"""
import sys
import ostraka
print(ostraka.__version__, dir(ostraka))
found = [name for name in {HEAVY} if name in sys.modules]
sys.exit(f"imported {{found}}" if found else 0)
"""


def test_it_is_what_surface_txt_says() -> None:
    """A change that is meant: run `python -m tests.ostraka.surface`, and tell of it in CHANGELOG.md."""
    assert surface() == FILE.read_text()


def test_every_mechanism_is_public() -> None:
    known = {mechanism.__name__ for mechanism in MECHANISMS.values()}
    assert known <= {*ostraka.mechanisms.__all__}


def test_importing_it_imports_nothing_heavy() -> None:
    done = subprocess.run([sys.executable, "-c", LIGHT], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("name", ostraka.__all__)
def test_every_public_name_is_documented(name: str) -> None:
    assert getattr(ostraka, name).__doc__


@pytest.mark.parametrize("name", sorted({*ostraka.__all__} - {*MODULES}))
def test_what_public_functions_return_is_public(name: str) -> None:
    public = {id(getattr(home, each)) for home in _homes() for each in home.__all__}
    value = getattr(ostraka, name)
    called = [value, *(each for _, each in inspect.getmembers(value, inspect.isroutine))]
    for each in called:
        if getattr(each, "__module__", None) == value.__module__ and inspect.isroutine(each):
            for returned in _classes(inspect.signature(each).return_annotation):
                assert id(returned) in public, f"{each.__qualname__} returns {returned}"


def _homes() -> list[Any]:
    return [ostraka, *(getattr(ostraka, module) for module in MODULES)]


def _classes(annotation: Any) -> Iterator[type]:
    """Return Ostraka's classes in an annotation."""
    if inspect.isclass(annotation) and annotation.__module__.startswith("ostraka"):
        yield annotation
    for part in get_args(annotation):
        yield from _classes(part)


@pytest.mark.parametrize("module", MODULES)
def test_its_modules_export_what_they_list(module: str) -> None:
    found = getattr(ostraka, module)
    assert all(hasattr(found, name) for name in found.__all__)


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'ostraka' has no attribute 'Simulate'"):
        ostraka.Simulate  # noqa: B018
