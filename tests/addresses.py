"""Addresses on loopback that nobody listens at.

The kernel gives ports of its local range (32768 and above on Linux) to every connection and to whoever
asks for port 0, so that a port of it which was free a moment ago may be somebody's when a server wants it.
"""

import random
import socket
from contextlib import ExitStack

_PORTS = range(20_000, 32_768)
_RANDOM = random.SystemRandom()


def free_ports(count: int) -> list[int]:
    """So many different ports, drawn below those that the kernel gives away."""
    with ExitStack() as stack:
        return [_held_port(stack) for _ in range(count)]


def free_addresses(count: int) -> list[str]:
    """So many different ports of 127.0.0.1, with it before them."""
    return [f"127.0.0.1:{port}" for port in free_ports(count)]


def _held_port(stack: ExitStack) -> int:
    while True:
        port = _RANDOM.choice(_PORTS)
        try:
            stack.enter_context(socket.create_server(("127.0.0.1", port)))
        except OSError:
            continue
        return port
