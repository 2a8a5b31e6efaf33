"""State of a joint training at its lead: the average, and durably the plan and progress."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from ostraka.client.session.batch import Ticketed
from ostraka.client.session.summed_rounds import OpenRound
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.files.durable import replace_durably
from ostraka.common.files.versions import parse_versioned
from ostraka.common.mechanism import JointTraining
from ostraka.common.plan.plan import Plan
from ostraka.common.sharing import FRACTION_BITS

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class AveragedModel:
    """The averaging model after some rounds (Dodwadmath and Stich 2022, Algorithm 1).

    Attributes:
        theta: its parameters, (d,).
        c: its control variate, (d,).
        number: number of rounds so far.
    """

    theta: Floats = field(repr=False)
    c: Floats = field(repr=False)
    number: int = 0

    @classmethod
    def starting_at(cls, theta: NDArray[np.float32]) -> Self:
        """Return the average before the first round: untrained parameters (d,), no correction."""
        return cls(theta.astype(np.float64), np.zeros(len(theta)))

    def after(
        self,
        mechanism: JointTraining,
        total: NDArray[np.int64],
        *,
        teachers_in: int,
        teachers: int,
        records: int,
    ) -> "AveragedModel":
        """Return the average after a round that released `total`.

        Lines 15 and 16 of Algorithm 1. The total change of the teachers' control variates follows from their
        updates, so it is not sent. If gradients are clipped, the released sum is the gradient itself, and the
        variate (own derivation: docs/heterogeneity.md, Training together).

        Args:
            mechanism: the round's, with its recipe.
            total: the released sum, (d,) in lattice steps of 2^-16.
            teachers_in: number of teachers whose updates are in the sum.
            teachers: number of all teachers of the training.
            records: number of records in the sum, each as often as teachers have it.
        """
        recipe = mechanism.recipe
        released = np.ldexp(total.astype(np.float64), -FRACTION_BITS)
        rate = recipe.learning_rate * recipe.decay**self.number
        if mechanism.gradient_radius is not None:
            gradient = released * mechanism.gradient_radius / records
            moved = recipe.average_rate * rate * gradient
            return AveragedModel(self.theta - moved, gradient, self.number + 1)
        step = released * mechanism.unit / teachers_in
        corrected = -self.c - step / (recipe.steps * rate)
        return AveragedModel(
            self.theta + recipe.average_rate * step,
            self.c + corrected * teachers_in / teachers,
            self.number + 1,
        )


FILE = "training.safetensors"
_KEY = "progress"


class TrainingProgress(BaseModel):
    """Progress of a training.

    Attributes:
        plan: serialized, in hex.
        session: its id once opened.
        number: number of released rounds.
        batch: the next batch id.
        open: the round in progress.
        counted: by site, the last batch whose sum contains its update.
        taking_part: number of parties in the sum of each released round.
        taken: by site, the number of sums that contain its update.
        stopped: why there are no further rounds; empty unless a budget or the grant ended early.
        finished: sites that stored their teachers.
        left_out: by site, why a party did not join; it takes no part.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    version: Literal[1] = 1
    plan: str
    session: str = ""
    number: int = 0
    batch: int = 1
    open: OpenRound | None = None
    counted: dict[str, int] = Field(default_factory=dict)
    taking_part: tuple[int, ...] = ()
    taken: dict[str, int] = Field(default_factory=dict)
    stopped: str = ""
    finished: tuple[str, ...] = ()
    left_out: dict[str, str] = Field(default_factory=dict)

    def with_values(self, **values: object) -> Self:
        """Return a copy with these values changed."""
        return self.model_copy(update=values)


@dataclass(eq=False, repr=False)
class TrainingStore:
    """A training's progress and average in one file, which is replaced whenever either changes."""

    folder: Path
    progress: TrainingProgress
    average: AveragedModel

    @classmethod
    def create(cls, folder: Path, progress: TrainingProgress, average: AveragedModel) -> Self:
        """Create a new training in an existing `folder`."""
        store = cls(folder, progress, average)
        store.keep(progress)
        return store

    @classmethod
    def load(cls, folder: Path) -> Self | None:
        """Load the training in `folder`; None if there is none.

        Raises:
            OstrakaError: `data.newer` for a later version's, `run.mismatch` for a damaged one.
        """
        from safetensors import SafetensorError, safe_open

        path = folder / FILE
        if not path.exists():
            return None
        try:
            with safe_open(path, framework="numpy") as file:
                told = (file.metadata() or {}).get(_KEY, "")
                progress = parse_versioned(told, TrainingProgress, path)
                theta = file.get_tensor("theta")
                c = file.get_tensor("c")
        except (OSError, SafetensorError, ValidationError) as exc:
            raise OstrakaError(
                ErrorCode.RUN_MISMATCH, f"{path} is damaged: remove it, and begin the training again."
            ) from exc
        return cls(folder, progress, AveragedModel(theta, c, progress.number))

    @property
    def plan_bytes(self) -> bytes:
        """The serialized plan."""
        return bytes.fromhex(self.progress.plan)

    @property
    def plan(self) -> Plan:
        """The parsed plan."""
        return Plan.parse(self.plan_bytes)

    @property
    def open_round(self) -> OpenRound | None:
        """The round in progress, see `RoundStore.open_round`."""
        return self.progress.open

    def begin_round(self) -> int:
        """Store that a round begins, see `RoundStore.begin_round`."""
        batch = self.progress.batch
        self.keep(self.progress.with_values(batch=batch + 1, open=OpenRound(batch=batch)))
        return batch

    def keep_ticket(self, ticket: Ticketed) -> None:
        """Do nothing: updates contain all of a party's records, whatever a ticket says."""

    def keep_frozen(self, parties: Sequence[str]) -> None:
        """Store the parties in the sum, see `RoundStore.keep_frozen`."""
        assert self.progress.open is not None  # noqa: S101 - a round is under way
        known = self.progress.open.model_copy(update={"frozen": tuple(parties)})
        self.keep(self.progress.with_values(open=known))

    def drop_round(self) -> None:
        """Store that the round is dead, see `RoundStore.drop_round`."""
        self.keep(self.progress.with_values(open=None))

    def keep(self, progress: TrainingProgress, average: AveragedModel | None = None) -> None:
        """Replace progress and average, durably."""
        from safetensors.numpy import save

        self.progress = progress
        self.average = average or self.average
        tensors = {"theta": np.asarray(self.average.theta), "c": np.asarray(self.average.c)}
        replace_durably(self.folder / FILE, save(tensors, {_KEY: progress.model_dump_json()}))
