"""Open files of this process; every connection is one."""

import resource
from contextlib import suppress

from ostraka.common.errors import ErrorCode, OstrakaError

OTHERS = 256
"""Number of files that may be open besides a client's connections."""
SERVER_FILES = 32_768
"""Limit of open files that a server asks for. An unauthenticated connection takes 33 KiB, so this many take
1.0 GiB of the 2 GiB of a server in a container. To allow more, raise the soft limit."""


def allow_open_files(parties: int) -> None:
    """Raise this process's own limit so that connections to this many parties fit.

    Raises:
        OstrakaError: `config.invalid` if the system's limit is too low.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = parties + OTHERS
    if _reaches(soft, needed):
        return
    if not _reaches(hard, needed):
        raise _too_few(parties, needed, f"this process may have {hard}")
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (needed, hard))
    except (ValueError, OSError) as exc:
        raise _too_few(parties, needed, "the system allows a process fewer") from exc


def allow_callers() -> None:
    """Raise this process's own limit to the system's, but at most to `SERVER_FILES`; it is never lowered.

    Shells and container runtimes start with 1,024, which strangers could use up. If a system refuses the
    limit that it reported, as macOS may, the limit stays as it is.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = SERVER_FILES if _reaches(hard, SERVER_FILES) else hard
    if not _reaches(soft, wanted):
        with suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def _reaches(limit: int, needed: int) -> bool:
    return limit == resource.RLIM_INFINITY or limit >= needed


def _too_few(parties: int, needed: int, allowed: str) -> OstrakaError:
    return OstrakaError(
        ErrorCode.CONFIG_INVALID,
        f"Connections to {parties} parties need {needed} open files and {allowed}: "
        f"raise its limit, such as with `ulimit -Hn {needed}`, or ask fewer parties.",
    )
