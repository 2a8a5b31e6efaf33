"""Hooks of the stand-in guardian and parties that refuse calls."""

from collections.abc import Callable

from ostraka.common.errors import ErrorCode
from ostraka.protos.ostraka.v1 import guardian_pb2
from tests.client.federation import Federation, refuse


def refusing(code: ErrorCode, **details: str) -> Callable[..., None]:
    """Return a hook that refuses every call."""

    def hook(*_: object) -> None:
        raise refuse(code, **details)

    return hook


def failing(code: ErrorCode, times: int = 1) -> Callable[..., None]:
    """Return a hook that refuses `times` times and then accepts every call."""
    left = [code] * times

    def hook(*_: object) -> None:
        if left:
            raise refuse(left.pop())

    return hook


def spending(
    queries: int, code: ErrorCode = ErrorCode.BUDGET_TOO_SMALL, told: str = "fits"
) -> Callable[[guardian_pb2.OpenBatchRequest], None]:
    """Return a hook that accepts batches of `queries` in all, and then states how many are left."""
    left = queries

    def hook(request: guardian_pb2.OpenBatchRequest) -> None:
        nonlocal left
        if request.size > left:
            raise refuse(code, **{told: str(left)})
        left -= request.size

    return hook


def open_now(federation: Federation) -> int:
    """Return the number of batches that have a ticket and neither answers nor an end."""
    guardian = federation.guardian
    return len(guardian.tickets.keys() - guardian.answers.keys() - guardian.dead)


def noting(federation: Federation, then: Callable[..., None] = lambda _: None) -> list[int]:
    """Return a list of the number of open batches at each request for another, which `then` may refuse."""
    noted: list[int] = []

    def note(request: guardian_pb2.OpenBatchRequest) -> None:
        noted.append(open_now(federation))
        then(request)

    federation.guardian.on_batch = note
    return noted
