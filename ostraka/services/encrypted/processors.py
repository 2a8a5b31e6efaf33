"""The processors that this process may use."""

import os
from pathlib import Path

GROUPS = Path("/sys/fs/cgroup")
"""Where Linux tells what a control group, such as a container's, may use."""
QUOTA = "cpu.max"


def cores() -> int:
    """Return how many cores this process may use: those that it may run on, within its container's quota."""
    here = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min(here, _quota(here)))


def _quota(most: int) -> int:
    """Return this control group's quota in cores, rounded up; `most` where it has none."""
    try:
        time, period = (GROUPS / QUOTA).read_text().split()
        return most if time == "max" else -(-int(time) // int(period))
    except (OSError, ValueError):
        return most
