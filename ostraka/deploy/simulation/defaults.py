"""Default settings of a simulation, by the kind of task and by mechanism."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal
from zipfile import BadZipFile

import numpy as np

from ostraka.client.run.asking_options import ENCRYPTED_BATCH_SIZE
from ostraka.common.datasets.table_files import kind_of
from ostraka.common.files.archives import check_zip_file

TaskKind = Literal["single", "multilabel", "number"]

BY_TASK: Mapping[TaskKind, Mapping[str, Any]] = {
    "single": {},
    "number": {},
    "multilabel": {"mechanism": "tau", "parties": 10, "queries": 100, "batch_size": 25},
}
"""Settings that a task's kind changes: every label costs, so more teachers answer fewer queries."""

RANDOMIZED = ("rand_res", "rand_res_labels")
"""Mechanisms whose labels parties randomise: of one epsilon, and of all records at once."""

JOINT_TRAINING_MODEL = "logistic"
"""What teachers learn together where nobody says: of few parameters, each of which has its own noise."""
AGREEING = 25
"""Votes on one class that outweigh default noise, of teachers that learned together, which mostly agree. More
bear more noise, in proportion: labels are as often right, and cost less."""
DIFFERING = 50
"""The same of teachers that learned alone, about half of which agree on a hard record."""

RARE_SHARE = 0.25
"""Of votes for a rare class from which it is released: of real ones it takes less than half."""

BY_ENCODING: Mapping[str, Mapping[str, Any]] = {"ckks": {"batch_size": ENCRYPTED_BATCH_SIZE}}
"""Settings that an encoding changes: a ciphertext costs the same however many of its slots hold a query."""


def default_parameters(mechanism: str, votes: int, *, joint_training: bool = False) -> Mapping[str, float]:
    """Parameters of a mechanism that suit the default budget, in votes.

    `votes` are all teachers', who learned together (`joint_training`) or each alone.
    """
    agreement = max(1.0, votes / (AGREEING if joint_training else DIFFERING))
    known: Mapping[str, Mapping[str, float]] = {
        "gnmax": {"sigma": 10.0 * agreement},
        # Named by itself, nothing says the quorum: one honest party then has all the noise that is relied on.
        "distributed_gnmax": {"sigma": 10.0 * agreement, "honest": 1},
        "confident": {"sigma1": 10.0 * agreement, "sigma2": 5.0 * agreement, "threshold": votes / 2},
        "interactive": {
            "sigma1": 10.0 * agreement,
            "sigma2": 5.0 * agreement,
            "threshold": votes / 4,
            "confidence": 0.8,
        },
        "lnmax": {"gamma": 0.1 / agreement},
        "threshold": {"sigma": 10.0 * agreement, "share": RARE_SHARE},
        "binary": {"sigma": 23.0},
        "tau": {"sigma": 18.0, "tau": 2.0},
        "l1": {"sigma": 18.0, "tau1": 4.0},
        "powerset": {"sigma": 6.0, "max_positives": 3},
        "noise_cluster": {"sigma": 3.0},
    }
    return known.get(mechanism, {})


def default_check(mechanism: str, votes: int) -> Mapping[str, float]:
    """Return the check of a mechanism that does badly without: votes spread over label sets, most by few."""
    return {"check.sigma": 12.0, "check.threshold": votes / 4} if mechanism == "powerset" else {}


def task_kind(data: str) -> TaskKind:
    """Return what a record of an .npz has: one class, several labels, or a number.

    Any other data, or none that can be read, have one class.
    """
    path = Path(data)
    if kind_of(path) != ".npz":
        return "single"
    try:
        check_zip_file(path)
        with np.load(path, allow_pickle=False) as arrays:
            found = [arrays[name] for name in ("y", "y_train") if name in arrays]
    except (OSError, ValueError, EOFError, BadZipFile, MemoryError):
        return "single"
    if any(y.ndim == 2 for y in found):
        return "multilabel"
    return "number" if any(y.dtype.kind == "f" for y in found) else "single"
