"""Durable state of a joint training at its lead: plan, average, and the round in progress."""

from pathlib import Path
from typing import Self

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from ostraka.client.training.averaging import AveragedModel
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.files.durable import replace_durably
from ostraka.common.plan.plan import Plan

FILE = "training.safetensors"
_KEY = "progress"


class Open(BaseModel):
    """A round that was begun and is not known to be released or dead.

    `frozen` are the parties in its sum, empty until they are fixed.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    batch: int
    frozen: tuple[str, ...] = ()


class TrainingProgress(BaseModel):
    """How far a training is.

    Attributes:
        plan: serialized, in hex.
        session: its id once opened.
        number: rounds released.
        batch: the next batch id.
        open: the round under way.
        counted: by site, the last batch whose sum had its update in it.
        taking_part: how many parties were in the sum of each released round.
        taken: by site, how many sums had its update in them.
        stopped: why no further round is taken; empty unless a budget or the grant ended before the last one.
        finished: sites that stored their teachers.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    plan: str
    session: str = ""
    number: int = 0
    batch: int = 1
    open: Open | None = None
    counted: dict[str, int] = Field(default_factory=dict)
    taking_part: tuple[int, ...] = ()
    taken: dict[str, int] = Field(default_factory=dict)
    stopped: str = ""
    finished: tuple[str, ...] = ()

    def changed(self, **values: object) -> Self:
        """Return a copy with these values changed."""
        return self.model_copy(update=values)


class TrainingStore:
    """A training's progress and average in one file, replaced at once whenever either changes."""

    def __init__(self, folder: Path, progress: TrainingProgress, average: AveragedModel) -> None:
        """Take what `create` or `load` made."""
        self._folder = folder
        self.progress = progress
        self.average = average

    @classmethod
    def create(cls, folder: Path, progress: TrainingProgress, average: AveragedModel) -> Self:
        """Create a new training in `folder`, which exists."""
        store = cls(folder, progress, average)
        store.keep(progress)
        return store

    @classmethod
    def load(cls, folder: Path) -> Self | None:
        """Load the training in `folder`, None where there is none; raise `run.mismatch` if it is damaged."""
        from safetensors import SafetensorError, safe_open

        path = folder / FILE
        if not path.exists():
            return None
        try:
            with safe_open(path, framework="numpy") as file:
                progress = TrainingProgress.model_validate_json((file.metadata() or {}).get(_KEY, ""))
                theta, c = file.get_tensor("theta"), file.get_tensor("c")
        except (OSError, SafetensorError, ValidationError) as exc:
            raise OstrakaError(
                ErrorCode.RUN_MISMATCH, f"{path} is damaged: remove it, and begin the training again."
            ) from exc
        return cls(folder, progress, AveragedModel(theta, c, progress.number))

    @property
    def plan_bytes(self) -> bytes:
        """The plan as it is sent."""
        return bytes.fromhex(self.progress.plan)

    @property
    def plan(self) -> Plan:
        """The plan as it reads."""
        return Plan.parse(self.plan_bytes)

    def keep(self, progress: TrainingProgress, average: AveragedModel | None = None) -> None:
        """Make both hold, durably."""
        from safetensors.numpy import save

        self.progress, self.average = progress, average or self.average
        tensors = {"theta": np.asarray(self.average.theta), "c": np.asarray(self.average.c)}
        replace_durably(self._folder / FILE, save(tensors, {_KEY: progress.model_dump_json()}))
