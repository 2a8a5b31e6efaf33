"""Durable state of a probe: which parties are asked which records together."""

from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import ValidationError

from ostraka.client.probing.circle import circle
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.files.durable import write_atomic
from ostraka.common.validation import FrozenModel

PROBE_FILE = "probe.json"


class ProbeState(FrozenModel):
    """Everything in probe.json.

    Attributes:
        task_digest: of the task, and `labelled_sha256` of the records' features, in hex.
        parties: who is asked, in the order of their places on the circle.
        size: how many parties a group has.
        rows: of the labelled records, those that each group is asked.
    """

    version: Literal[1] = 1
    task_digest: str
    labelled_sha256: str
    parties: tuple[str, ...]
    size: int
    rows: tuple[tuple[int, ...], ...]

    @property
    def members(self) -> NDArray[np.bool_]:
        """Which parties are in which group, bool (groups, parties)."""
        return circle(len(self.parties), self.size)

    @property
    def groups(self) -> tuple[tuple[str, ...], ...]:
        """The names of each group's parties, sorted."""
        return tuple(tuple(sorted(np.array(self.parties)[group].tolist())) for group in self.members)

    def same(self, other: "ProbeState") -> bool:
        """Whether both ask the same number of records of the same parties; what was drawn may differ."""
        return self._asked() == other._asked()

    def _asked(self) -> tuple[object, ...]:
        parties, sizes = sorted(self.parties), [len(rows) for rows in self.rows]
        return self.task_digest, self.labelled_sha256, parties, self.size, sizes


def open_probe(folder: Path, drawn: ProbeState) -> ProbeState:
    """Return the probe in `folder`, or save the one that was `drawn`.

    Raises `run.mismatch` for a folder whose probe is damaged, or is of other records, parties or sizes.
    """
    path = folder / PROBE_FILE
    if not path.exists():
        write_atomic(path, drawn.model_dump_json(indent=1))
        return drawn
    try:
        kept = ProbeState.model_validate_json(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, ValidationError) as exc:
        raise OstrakaError(
            ErrorCode.RUN_MISMATCH, f"{path} cannot be read: restore it, or probe in a new folder."
        ) from exc
    if not kept.same(drawn):
        raise OstrakaError(
            ErrorCode.RUN_MISMATCH,
            f"{folder} holds a probe of other records, parties, queries or group size: repeat its options to "
            "resume it, or name another --out folder.",
        )
    return kept
