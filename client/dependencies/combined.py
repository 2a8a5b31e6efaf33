"""What the runs of one pool that asked for different labels say together."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from client.answers import Answer
from client.state import RunState


@dataclass(frozen=True)
class Combined:
    """A pool whose labels were asked for in several runs, in sub-folders of one folder.

    Attributes:
        task: its name, with its `classes` and its `task_digest`.
        pool_sha256: of the pool, with its `pool_size`.
        answers: by row of the pool, as `RunState.answers`: for every label of the task 1, 0, or None where it
            was neither answered nor implied.
        implied: by row, the labels that nobody was asked about because a label they need is absent, by index.
        parts: the runs, by the name of their sub-folder.
    """

    task: str
    classes: tuple[str, ...]
    task_digest: bytes
    pool_sha256: str
    pool_size: int
    answers: Mapping[int, Answer] = field(repr=False)
    implied: Mapping[int, tuple[int, ...]] = field(repr=False)
    parts: Mapping[str, RunState] = field(repr=False)


def is_combined(folder: Path) -> bool:
    """Whether a folder holds the runs of `ostraka query label --dependencies`."""
    raise NotImplementedError


def combined_answers(folder: Path) -> Combined:
    """What the runs in a folder say together; raises `data.missing` or `run.mismatch` as `load_state`."""
    raise NotImplementedError
