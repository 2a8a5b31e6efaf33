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
"""Settings that the kind of task changes: every label has a cost, so more teachers answer fewer queries."""

RANDOMIZED = ("rand_res", "rand_res_labels")
"""Mechanisms with labels that parties randomise: with one epsilon, and for all records at once."""

JOINT_TRAINING_MODEL = "logistic"
"""Default model of teachers that learn together: it has few parameters, each of which gets its own noise."""
AGREEING = 25
"""Votes on one class that outweigh default noise, for teachers that learned together and mostly agree. More
votes allow more noise in proportion: labels are as often right, and cost less."""
DIFFERING = 50
"""The same for teachers that learned alone; about half of them agree on a hard record."""

RARE_SHARE = 0.25
"""Share of votes for a rare class from which it is released: real rare records get less than half."""

BY_ENCODING: Mapping[str, Mapping[str, Any]] = {"ckks": {"batch_size": ENCRYPTED_BATCH_SIZE}}
"""Settings that an encoding changes: a ciphertext costs the same for any number of queries in its slots."""


def default_parameters(mechanism: str, votes: int, *, joint_training: bool = False) -> Mapping[str, float]:
    """Return parameters of a mechanism that suit the default budget, in votes.

    `votes` are all teachers', who learned together (`joint_training`) or each alone.
    """
    agreement = max(1.0, votes / (AGREEING if joint_training else DIFFERING))
    known: Mapping[str, Mapping[str, float]] = {
        "gnmax": {"sigma": 10.0 * agreement},
        # No parameter here gives the quorum: one honest party then has all the noise that is relied on.
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
    """Return the check that a mechanism needs if its votes are spread over label sets with few votes each."""
    return {"check.sigma": 12.0, "check.threshold": votes / 4} if mechanism == "powerset" else {}


def task_kind(data: str) -> TaskKind:
    """Return the kind of label in an .npz: one class, several labels, or a number.

    Any other data, or unreadable data, count as one class.
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
