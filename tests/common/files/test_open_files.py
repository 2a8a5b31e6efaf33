import resource

import pytest

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.files.open_files import OTHERS, SERVER_FILES, allow_callers, allow_open_files


@pytest.mark.parametrize(
    ("limits", "raised"),
    [
        ((1024, 4096), (1000 + OTHERS, 4096)),
        ((1024, resource.RLIM_INFINITY), (1000 + OTHERS, resource.RLIM_INFINITY)),
        ((2048, 4096), None),
        ((resource.RLIM_INFINITY, resource.RLIM_INFINITY), None),
    ],
)
def test_the_limit_is_raised_where_that_is_needed(
    monkeypatch: pytest.MonkeyPatch, limits: tuple[int, int], raised: tuple[int, int] | None
) -> None:
    seen: list[tuple[int, int]] = []
    monkeypatch.setattr(resource, "getrlimit", lambda _: limits)
    monkeypatch.setattr(resource, "setrlimit", lambda _, both: seen.append(both))
    allow_open_files(1000)
    assert seen == ([] if raised is None else [raised])


def test_a_system_that_allows_too_few_is_told_of(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda _: (256, 1024))
    with pytest.raises(OstrakaError) as refused:
        allow_open_files(1000)
    assert refused.value.code is ErrorCode.CONFIG_INVALID
    assert "ulimit -Hn 1256" in refused.value.message


def test_a_system_with_a_limit_of_its_own_is_told_of(monkeypatch: pytest.MonkeyPatch) -> None:
    """As macOS has one, below the limit without end that it tells."""

    def refused_by_the_system(*_: object) -> None:
        raise ValueError("current limit exceeds maximum limit")

    monkeypatch.setattr(resource, "getrlimit", lambda _: (256, resource.RLIM_INFINITY))
    monkeypatch.setattr(resource, "setrlimit", refused_by_the_system)
    with pytest.raises(OstrakaError) as refused:
        allow_open_files(1000)
    assert refused.value.code is ErrorCode.CONFIG_INVALID


@pytest.mark.parametrize(
    ("limits", "raised"),
    [
        ((1024, 4096), (4096, 4096)),
        ((1024, 1 << 20), (SERVER_FILES, 1 << 20)),
        ((256, resource.RLIM_INFINITY), (SERVER_FILES, resource.RLIM_INFINITY)),
        ((4096, 4096), None),
        ((SERVER_FILES + 1, 1 << 20), None),
        ((resource.RLIM_INFINITY, resource.RLIM_INFINITY), None),
    ],
)
def test_a_server_has_as_many_as_the_system_lets_it_within_its_memory(
    monkeypatch: pytest.MonkeyPatch, limits: tuple[int, int], raised: tuple[int, int] | None
) -> None:
    seen: list[tuple[int, int]] = []
    monkeypatch.setattr(resource, "getrlimit", lambda _: limits)
    monkeypatch.setattr(resource, "setrlimit", lambda _, both: seen.append(both))
    allow_callers()
    assert seen == ([] if raised is None else [raised])


def test_a_server_goes_on_where_the_system_refuses(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused_by_the_system(*_: object) -> None:
        raise ValueError("current limit exceeds maximum limit")

    monkeypatch.setattr(resource, "getrlimit", lambda _: (256, resource.RLIM_INFINITY))
    monkeypatch.setattr(resource, "setrlimit", refused_by_the_system)
    allow_callers()
