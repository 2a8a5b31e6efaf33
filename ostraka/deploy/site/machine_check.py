"""Checks of the machine: disk space, memory, the requested device, and the port of this site's server."""

import errno
import shutil
import socket
from pathlib import Path

from ostraka.common.config import SiteConfig, split_address
from ostraka.common.errors import OstrakaError
from ostraka.deploy.site.finding import Finding, failure, ok, warning
from ostraka.deploy.site.health import is_serving

MIB = 2**20
GIB = 2**30
DISK_FAILS = 100 * MIB
DISK_WARNS = GIB
MEMORY_FAILS = 256 * MIB
MEMORY_WARNS = GIB
MEMINFO = Path("/proc/meminfo")
CGROUP = Path("/sys/fs/cgroup")


def disk(folder: Path) -> Finding:
    """Whether there is disk space for what a site must not lose."""
    return enough_disk(folder, shutil.disk_usage(folder).free)


def enough_disk(folder: Path, free: int) -> Finding:
    """Judge `free` bytes at `folder`."""
    check = f"disk: {folder}"
    there = f"{_size(free)} are free at {folder}"
    if free < DISK_FAILS:
        return failure(check, f"{there}, and {_size(DISK_FAILS)} are the least; make room first.")
    if free < DISK_WARNS:
        return warning(check, f"{there}; make room before it is full, when nothing is answered.")
    return ok(check, f"{there}.")


def memory() -> Finding:
    """Whether there is enough memory, on this machine and within the limit of a container."""
    return enough_memory(min(_of_machine(), _of_container()))


def enough_memory(available: float) -> Finding:
    """Judge `available` bytes."""
    if available == float("inf"):
        return ok("memory", "This system does not say how much memory is available.")
    there = f"{_size(available)} of memory are available"
    if available < MEMORY_FAILS:
        return failure("memory", f"{there}, and {_size(MEMORY_FAILS)} are the least; give it more.")
    if available < MEMORY_WARNS:
        return warning("memory", f"{there}; models of any size need more.")
    return ok("memory", f"{there}.")


def device(folder: Path) -> Finding:
    """Whether a party's teachers can vote on the device in its site.toml, by a multiplication there."""
    from ostraka.common.config import load_section
    from ostraka.services.admission.policy import PartySection

    found = load_section(folder, "party", PartySection).open_device()
    try:
        return ok("device", f"Teachers vote on {' and '.join(found.descriptions())}.")
    except OstrakaError as error:
        return failure("device", error.message)


def _of_machine() -> float:
    try:
        lines = MEMINFO.read_text(encoding="utf-8").splitlines()
    except OSError:
        return float("inf")
    found = [line.split()[1] for line in lines if line.startswith("MemAvailable:")]
    return int(found[0]) * 1024 if found else float("inf")


def _of_container() -> float:
    """Return the rest of this control group's limit, `inf` if it has none."""
    try:
        limit = (CGROUP / "memory.max").read_text(encoding="utf-8").strip()
        used = int((CGROUP / "memory.current").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return float("inf")
    return float("inf") if limit == "max" else float(int(limit) - used)


def _size(amount: float) -> str:
    return f"{amount / GIB:.1f} GiB" if amount >= GIB else f"{amount / MIB:.0f} MiB"


PORT = "port"


def port(site: SiteConfig) -> Finding:
    """Listen for a moment where the site will; if the port is taken, ask whether the site has it."""
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
        return _check_server(site) if error.errno == errno.EADDRINUSE else _impossible(site, error)
    return ok(PORT, f"{site.listen} is free.")


def _check_server(site: SiteConfig) -> Finding:
    if _serves(site.folder):
        return ok(PORT, f"This {site.role} serves at {site.listen}.")
    return failure(
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
    return failure(PORT, f"Cannot listen at {site.listen}: {error.strerror}; correct `listen` in site.toml.")
