"""Addresses on loopback that nobody listens at."""

import socket
from contextlib import ExitStack


def free_ports(count: int) -> list[int]:
    """So many different ports."""
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(count)]
        return [int(one.getsockname()[1]) for one in sockets]


def free_addresses(count: int) -> list[str]:
    """So many different ports of 127.0.0.1, with it before them."""
    return [f"127.0.0.1:{port}" for port in free_ports(count)]
