"""Classes from installed packages other than Ostraka, found by their entry points."""

from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import TypeVar

from ostraka.common.errors import ErrorCode, OstrakaError

T = TypeVar("T")


def entry_point_class(group: str, name: str, base: type[T]) -> type[T] | None:
    """Return the class that an installed package registers under this name in an entry-point group, or None.

    Only the entry point of this name is imported.

    Raises:
        OstrakaError: `config.invalid` if two packages register the name, if the class cannot be imported, or
            if it is not a subclass of `base`.
    """
    found = _entry_points(group).get(name, ())
    if not found:
        return None
    if len(found) > 1:
        packages = " and ".join(sorted(_package(point) for point in found))
        raise _invalid(f"{packages} both register {name} in {group}; uninstall one of them")
    (point,) = found
    try:
        loaded = point.load()
    except Exception as exc:
        raise _invalid(
            f"{_package(point)} registers {point.value} in {group}, which cannot be imported "
            f"({type(exc).__name__}: {exc}); mend or uninstall it"
        ) from exc
    if not isinstance(loaded, type) or not issubclass(loaded, base):
        raise _invalid(
            f"{_package(point)} registers {point.value} in {group}, which is not a {base.__name__}; "
            "mend or uninstall it"
        )
    return loaded


def entry_point_names(group: str) -> list[str]:
    """Return the names that installed packages register in an entry-point group; import nothing."""
    return sorted(_entry_points(group))


@cache
def _entry_points(group: str) -> dict[str, tuple[EntryPoint, ...]]:
    """Return the entry points of a group by name; cached, because reading them walks every package."""
    found: dict[str, tuple[EntryPoint, ...]] = {}
    for point in entry_points(group=group):
        found[point.name] = (*found.get(point.name, ()), point)
    return found


def _package(point: EntryPoint) -> str:
    return "An unknown package" if point.dist is None else point.dist.name


def _invalid(problem: str) -> OstrakaError:
    return OstrakaError(ErrorCode.CONFIG_INVALID, f"{problem[0].upper()}{problem[1:]}.")
