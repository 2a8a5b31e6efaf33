"""Check of the port of this site's server: free, or already served."""

import errno
import socket
from pathlib import Path

from ostraka.common.config import SiteConfig, split_address
from ostraka.common.errors import OstrakaError
from ostraka.deploy.site.checks.finding import Finding, failed, ok, warning
from ostraka.deploy.site.health import is_serving

PORT = "port"


def port(site: SiteConfig) -> Finding:
    """Try to listen for a moment where the site will; where something does, ask whether it is the site."""
    host, number = split_address(site.listen)
    if not number:
        return warning(PORT, "`listen` in site.toml leaves the port to the system; others need a fixed one.")
    try:
        family, kind, protocol, _, place = socket.getaddrinfo(host, number, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind, protocol) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(place)
            probe.listen(1)
    except OSError as error:
        return _taken(site) if error.errno == errno.EADDRINUSE else _impossible(site, error)
    return ok(PORT, f"{site.listen} is free.")


def _taken(site: SiteConfig) -> Finding:
    if _serves(site.folder):
        return ok(PORT, f"This {site.role} serves at {site.listen}.")
    return failed(
        PORT,
        f"Something else listens at {site.listen}, or this {site.role} does not answer there; stop it, or"
        " change `listen` in site.toml.",
    )


def _serves(folder: Path) -> bool:
    try:
        return is_serving(folder)
    except OstrakaError:
        return False


def _impossible(site: SiteConfig, error: OSError) -> Finding:
    return failed(PORT, f"Cannot listen at {site.listen}: {error.strerror}; correct `listen` in site.toml.")
