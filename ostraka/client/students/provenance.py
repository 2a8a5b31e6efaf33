"""Provenance of a student: what was recorded besides the labels that it learned from."""

import json
from pathlib import Path
from typing import Any

from ostraka.common.errors import ErrorCode, OstrakaError

STUDENT_FILE = "student.json"
TOLD = {"student", "model", "labelled", "released", "measured_on", "measured", "before", "after"}
"""What reports tell of a student."""


def read_student(run: Path, pool_sha256: str) -> dict[str, Any] | None:
    """Return what was written of the student of a run, None where there is none.

    Raises `run.mismatch` where it cannot be read, or tells of a student of another pool.
    """
    path = run / STUDENT_FILE
    try:
        student: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        trained_on = student["pool_sha256"]
        if not student.keys() >= TOLD:
            raise ValueError("something is not told")
    except FileNotFoundError:
        return None
    except (OSError, ValueError, TypeError, KeyError) as exc:
        raise _stale(path, "cannot be read") from exc
    if trained_on != pool_sha256:
        raise _stale(path, "tells of a student of another pool")
    return student


def _stale(path: Path, problem: str) -> OstrakaError:
    return OstrakaError(
        ErrorCode.RUN_MISMATCH, f"{path} {problem}: run `ostraka query retrain` on this run again."
    )
