"""Servers and channels that know who is at the other end, and errors that keep their code over the wire."""

from ostraka.common.rpc.channel import open_async_channel, open_channel
from ostraka.common.rpc.failures import call_error
from ostraka.common.rpc.retry import with_async_retries, with_retries
from ostraka.common.rpc.server import BoundServer, make_server, peer_identity
from ostraka.common.rpc.steps import join, split

__all__ = [
    "BoundServer",
    "call_error",
    "join",
    "make_server",
    "open_async_channel",
    "open_channel",
    "peer_identity",
    "split",
    "with_async_retries",
    "with_retries",
]
