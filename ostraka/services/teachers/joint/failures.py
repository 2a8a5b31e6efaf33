"""Error of a model that fails on a record, reported once and without data."""

from functools import cache

import structlog

FAILURES = (Exception, SystemExit)
"""What models of a party's own may raise."""


def tell(failure: BaseException) -> None:
    """Says that a model failed, and by which kind of failure; each kind once in a process."""
    _tell(type(failure).__name__)


@cache
def _tell(problem: str) -> None:
    structlog.get_logger().warning("teacher.failed", problem=problem, adds="nothing")
