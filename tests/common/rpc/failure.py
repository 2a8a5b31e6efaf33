"""A failed call that has a status and nothing else."""

from typing import Any

import grpc
from grpc._channel import _InactiveRpcError, _RPCState


def Failure(status: grpc.StatusCode) -> Any:  # noqa: N802
    """Return the error that a blocking call raises."""
    state: Any = _RPCState((), (), (), status, "")
    return _InactiveRpcError(state)  # type: ignore[abstract]
