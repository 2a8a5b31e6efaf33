"""Durable state of active learning: its settings, and the queries of each round."""

from pathlib import Path
from typing import Literal, TypeAlias

from pydantic import ValidationError

from ostraka.client.run.combined import GROUP, PARENTS, is_combined, load_combined
from ostraka.client.session.run_state import STATE_FILE, RunState, load_state
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.files.durable import write_atomic
from ostraka.common.files.versions import read_versioned
from ostraka.common.validation import FrozenModel

ROUNDS_FILE = "learning.json"


Settings: TypeAlias = dict[str, str | int | None]


class RoundState(FrozenModel):
    """One round.

    Attributes:
        rows: rows of the pool that it asks about, in rising order.
        learned: number of labels, of all rounds, that the student after it learned from; None before that.
    """

    rows: tuple[int, ...]
    learned: int | None = None


class RoundsState(FrozenModel):
    """Everything in learning.json.

    Attributes:
        task: the task's name.
        task_digest: its digest, in hex.
        pool_sha256: the pool's digest, in hex.
        settings: how it asks and learns, by name; the same in every resumption.
        rounds: the rounds that were begun.
    """

    version: Literal[1] = 1
    task: str
    task_digest: str
    pool_sha256: str
    pool_size: int
    settings: Settings
    rounds: tuple[RoundState, ...] = ()

    def all_rows(self) -> set[int]:
        """Return the rows of the pool that any round asks about."""
        return {row for one in self.rounds for row in one.rows}


def is_rounds(folder: Path) -> bool:
    """Whether a folder contains rounds of `ostraka query learn`."""
    return (folder / ROUNDS_FILE).exists()


def round_folder(folder: Path, number: int) -> Path:
    """Return the folder of a round; the first is number 1."""
    return folder / f"round-{number}"


def load_rounds(folder: Path) -> RoundsState:
    """Return the rounds in a folder.

    Raises:
        OstrakaError: `data.missing` if there are none, `data.newer` for a later version's, `run.mismatch` for
            damaged ones.
    """
    path = folder / ROUNDS_FILE
    try:
        return read_versioned(path, RoundsState)
    except FileNotFoundError as exc:
        raise OstrakaError(
            ErrorCode.DATA_MISSING, f"{folder} holds no rounds: make them with `ostraka query learn`."
        ) from exc
    except (OSError, ValidationError) as exc:
        raise OstrakaError(
            ErrorCode.RUN_MISMATCH,
            f"{path} cannot be read as the state of rounds: restore it, or learn in a new folder.",
        ) from exc


def save_rounds(folder: Path, state: RoundsState) -> None:
    """Replace the state of the rounds in a folder, durable on return."""
    write_atomic(folder / ROUNDS_FILE, state.model_dump_json(indent=1))


def round_folders(folder: Path, state: RoundsState) -> list[Path]:
    """Return the folders of rounds that asked anything, in order: all except perhaps the last."""
    folders = [round_folder(folder, number) for number in range(1, len(state.rounds) + 1)]
    begun = (".", PARENTS, f"{GROUP}-1")
    if folders and not any((folders[-1] / run / STATE_FILE).exists() for run in begun):
        return folders[:-1]
    return folders


def runs(folder: Path, state: RoundsState) -> list[RunState]:
    """Return the runs of all rounds that were begun, in order; raise as `runs_of` if one is missing."""
    return [run for one in round_folders(folder, state) for run in runs_of(one)]


def runs_of(folder: Path) -> list[RunState]:
    """Return the run of a round, or its combined runs; raise as `load_state`."""
    return list(load_combined(folder).parts.values()) if is_combined(folder) else [load_state(folder)]
