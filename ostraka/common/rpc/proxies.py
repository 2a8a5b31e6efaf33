"""The proxy that gRPC uses according to the environment; it may block calls."""

import ipaddress
import os
from collections.abc import Mapping
from urllib.parse import urlsplit

from ostraka.common.config import is_loopback, split_address
from ostraka.common.errors import OstrakaError
from ostraka.common.rpc.http_connect import HttpProxy, first_set, read_proxy

PROXIES = ("grpc_proxy", "https_proxy", "http_proxy")
"""Variables that gRPC reads, in this order (its documentation, "environment variables")."""
EXCEPTIONS = ("no_grpc_proxy", "no_proxy")
"""Variables with hosts that are called directly: ends of names, addresses, and networks as 10.0.0.0/8."""


def grpc_proxy(address: str, environment: Mapping[str, str] = os.environ) -> HttpProxy | None:
    """Return the proxy through which gRPC calls `address`; None if there is none, or if it cannot be read."""
    name, url = first_set(PROXIES, environment)
    if not name or is_excepted(address, environment):
        return None
    try:
        return read_proxy(url, name)
    except OstrakaError:
        return None


def proxy_of(address: str, environment: Mapping[str, str] = os.environ) -> str:
    """Return a description of the proxy for `address`, without its password; empty if there is none."""
    name, url = first_set(PROXIES, environment)
    if not name or is_excepted(address, environment):
        return ""
    proxy = urlsplit(url)
    where = f"{proxy.hostname or '?'}:{_port(proxy.netloc)}".removesuffix(":")
    return f"the proxy {where}, which {name} names, lets calls of HTTP/2 through"


def is_excepted(
    address: str, environment: Mapping[str, str] = os.environ, names: tuple[str, ...] = EXCEPTIONS
) -> bool:
    """Whether `address` is this machine, or one that the variables `names` except from proxies."""
    if is_loopback(address):
        return True
    host = split_address(address)[0]
    excepted = first_set(names, environment)[1]
    return any(_covers(one.strip(), host) for one in excepted.split(",") if one.strip())


def _port(netloc: str) -> str:
    _, _, port = netloc.rpartition(":")
    return port if port.isdecimal() else ""


def _covers(exception: str, host: str) -> bool:
    try:
        return ipaddress.ip_address(host) in ipaddress.ip_network(exception, strict=False)
    except ValueError:
        return host.endswith(exception)
