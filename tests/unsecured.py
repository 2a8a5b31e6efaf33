"""Channels without TLS to servers that tests make."""

import grpc

from ostraka.common.rpc.checked import CheckedAsyncChannel
from ostraka.common.rpc.watcher import Target


def unsecured(target: Target) -> CheckedAsyncChannel:
    """Open a channel like `open_async_channel`, but without TLS."""
    return CheckedAsyncChannel(grpc.aio.insecure_channel(target.address), target)
