"""Open files of this process, of which a connection to a party is one."""

import resource

from ostraka.common.errors import ErrorCode, OstrakaError

OTHERS = 256
"""Files that may be open beside them."""


def allow_open_files(parties: int) -> None:
    """Raise this process's own limit so that connections to so many parties fit.

    Raises:
        OstrakaError: `config.invalid` where the system's limit is too low for that.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = parties + OTHERS
    if soft == resource.RLIM_INFINITY or soft >= needed:
        return
    if hard != resource.RLIM_INFINITY and hard < needed:
        raise _too_few(parties, needed, f"this process may have {hard}")
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (needed, hard))
    except (ValueError, OSError) as exc:
        raise _too_few(parties, needed, "the system allows a process fewer") from exc


def _too_few(parties: int, needed: int, allowed: str) -> OstrakaError:
    return OstrakaError(
        ErrorCode.CONFIG_INVALID,
        f"Connections to {parties} parties need {needed} open files and {allowed}: "
        f"raise its limit, such as with `ulimit -Hn {needed}`, or ask fewer parties.",
    )
