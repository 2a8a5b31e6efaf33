"""Telemetry of a process: logs, progress bars, metrics, traces; never votes, shares or seeds."""

from ostraka.common.telemetry.logs import configure_logging, configure_logging_once
from ostraka.common.telemetry.progress import progress

__all__ = ["configure_logging", "configure_logging_once", "progress"]
