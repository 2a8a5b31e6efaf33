"""State of a fit, what was asked and what resulted: fit.json in its run folder."""

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, Literal

from pydantic import ValidationError

from ostraka.client.fitting.fit_options import FitOptions
from ostraka.client.learners.fit import FitReport, LearnerName
from ostraka.client.run.sum_planning import SumCost
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.files.durable import replace_durably
from ostraka.common.files.versions import read_versioned
from ostraka.common.validation import FrozenModel

FIT_FILE = "fit.json"
MODEL_FILE = "model.skops"
NETWORK_FILE = "model.safetensors"


class FitState(FrozenModel):
    """A fit in a folder.

    Attributes:
        task: the task's name.
        task_sha256: the task's digest in hex.
        options: as they were given.
        pool: number of the pool's records; 0 without a pool.
        pool_sha256: digest of them as models take them; empty without a pool.
        labelled: number of own labelled records; 0 if there are none.
        own_sha256: digest of them; empty if there are none.
        records: total that parties declared when it was planned.
        mu: of mu-Gaussian differential privacy for one replaced record.
        learner: the learner's name.
        reason: why it was chosen.
        rounds: number of consecutive questions.
        tells: what parties learn about the querying party's own records.
        tells_pool: whether questions may reveal the pool's statistics to the parties.
        warnings: the warnings before it asked.
        reading: what was guessed or left out while own records were read, one sentence each.
        costs: worst case of all rounds, by party.
        report: what the model was fitted to; None until there is a model.
        left_out: why parties were left out of the last sum, by site.
        accuracy: the model's accuracy, as in `Accuracy.as_json`.
    """

    version: Literal[1] = 1
    task: str
    task_sha256: str
    options: FitOptions
    pool: int
    pool_sha256: str
    labelled: int
    own_sha256: str
    records: int
    mu: float
    learner: LearnerName
    reason: str
    rounds: int
    tells: tuple[str, ...]
    tells_pool: bool
    warnings: tuple[str, ...]
    costs: tuple[SumCost, ...]
    reading: tuple[str, ...] = ()
    report: FitReport | None = None
    left_out: Mapping[str, str] = {}
    accuracy: Mapping[str, Any] = {}

    @property
    def is_done(self) -> bool:
        """Whether there is a model of all rounds."""
        return self.report is not None and self.report.rounds == self.rounds

    @property
    def model_file(self) -> str:
        """Name of the model's file."""
        return NETWORK_FILE if self.learner == "network" else MODEL_FILE

    def keep(self, folder: Path) -> None:
        """Write the state, durably."""
        replace_durably(folder / FIT_FILE, self.model_dump_json(indent=1).encode())


ASKED = {
    "task_sha256": "task",
    "options": "options",
    "pool_sha256": "pool",
    "own_sha256": "labelled records",
}
"""Fields that a resumed fit must have in common with its request, and their names in messages."""


def load_fit(folder: Path) -> FitState | None:
    """Return the fit in a folder, or None.

    Raises:
        OstrakaError: `data.newer` for a later version's, `run.mismatch` if it cannot be read.
    """
    path = folder / FIT_FILE
    try:
        return read_versioned(path, FitState)
    except FileNotFoundError:
        return None
    except (OSError, ValidationError) as exc:
        raise OstrakaError(
            ErrorCode.RUN_MISMATCH,
            f"{path} cannot be read: restore it, or name another --out folder; its sums stay paid.",
        ) from exc


def require_same(folder: Path, kept: FitState, asked: FitState) -> None:
    """Raise `run.mismatch`, naming the differences, unless a folder's fit matches the request."""
    different = [words for name, words in ASKED.items() if getattr(kept, name) != getattr(asked, name)]
    if "options" in different:
        options = zip(FitOptions.model_fields, kept.options, asked.options, strict=True)
        names = [name for name, (_, before), (_, now) in options if before != now]
        different[different.index("options")] = " and ".join(name.replace("_", "-") for name in names)
    if different:
        raise OstrakaError(
            ErrorCode.RUN_MISMATCH,
            f"{folder} holds a fit with other {', '.join(different)}: repeat its command to go on, or name "
            "another --out folder.",
        )


def fit_figures(folder: Path, state: FitState) -> dict[str, Any]:
    """Return what a fit asked, its result and every party's worst-case cost, as JSON types."""
    report = {} if state.report is None else asdict(state.report)
    notes = report.pop("notes", ())
    return {
        "run": str(folder),
        "task": state.task,
        "learner": state.learner,
        "reason": state.reason,
        "model": None if state.report is None else str(folder / state.model_file),
        "rounds_planned": state.rounds,
        "declared_records": state.records,
        "mu": state.mu,
        **report,
        "notes": list(notes),
        "pool": state.pool,
        "labelled": state.labelled,
        "tells": list(state.tells),
        "warnings": list(state.warnings),
        "reading": list(state.reading),
        "left_out": dict(state.left_out),
        "epsilon_is": "worst_case, of this fit alone with every sum released",
        "costs": [cost.model_dump() for cost in state.costs],
        "accuracy": dict(state.accuracy),
    }
