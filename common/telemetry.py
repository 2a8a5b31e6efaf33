"""Logs and progress bars, on stderr; never with votes, shares, seeds or histograms in them."""

import logging
import os
import sys

import structlog
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn


def configure_logging(level: int = logging.INFO) -> None:
    """Log events of `level` and above to stderr: for people on a terminal, else one JSON object a line.

    Call it before gRPC is imported, whose own lines it silences unless GRPC_VERBOSITY is set: they say
    what OstrakaError says better.
    """
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")
    people, programs = structlog.dev.ConsoleRenderer, structlog.processors.JSONRenderer
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            people() if sys.stderr.isatty() else programs(),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
    )


def progress() -> Progress:
    """A progress display on stderr, silent where that is no terminal."""
    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    return Progress(*columns, console=console, disable=not console.is_terminal)
