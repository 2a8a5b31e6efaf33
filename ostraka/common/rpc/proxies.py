"""The proxy that gRPC goes through, as the environment names it; it may swallow calls."""

import ipaddress
import os
from collections.abc import Mapping
from urllib.parse import urlsplit

from ostraka.common.config import is_loopback, split_address

PROXIES = ("grpc_proxy", "https_proxy", "http_proxy")
"""Variables that gRPC looks at, the first that is set (its documentation, "environment variables")."""
EXCEPTIONS = ("no_grpc_proxy", "no_proxy")
"""The same of hosts that are called without one: ends of names, addresses, and networks as 10.0.0.0/8."""


def proxy_of(address: str, environment: Mapping[str, str] = os.environ) -> str:
    """Return words for the proxy between this machine and `address`, without its password; empty for none."""
    name = next((name for name in PROXIES if environment.get(name)), None)
    if name is None or is_loopback(address):
        return ""
    excepted = next((environment[one] for one in EXCEPTIONS if environment.get(one)), "")
    host = split_address(address)[0]
    if any(_covers(one.strip(), host) for one in excepted.split(",") if one.strip()):
        return ""
    proxy = urlsplit(environment[name])
    where = f"{proxy.hostname or '?'}:{_port(proxy.netloc)}".removesuffix(":")
    return f"the proxy {where}, which {name} names, lets calls of HTTP/2 through"


def _port(netloc: str) -> str:
    _, _, port = netloc.rpartition(":")
    return port if port.isdecimal() else ""


def _covers(exception: str, host: str) -> bool:
    try:
        return ipaddress.ip_address(host) in ipaddress.ip_network(exception, strict=False)
    except ValueError:
        return host.endswith(exception)
