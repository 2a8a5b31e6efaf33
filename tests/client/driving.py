"""How tests drive a run: no waiting, and labels read back from the file."""

import csv
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

from ostraka.client.peers.retry import Retry
from ostraka.client.run.labelling import LabellingRun, LabelResult, label
from ostraka.client.run.options import PlanOptions
from ostraka.client.session.run_state import load_state
from ostraka.common.mechanism import Confident
from tests.client.federation import Federation

MECHANISM = Confident(sigma1=10.0, sigma2=5.0, threshold=6.0)
QUICK = Retry(attempts=2, base_s=0.0, sleep=lambda _: None, rng=random.Random(0))  # noqa: S311


def options(**changes: Any) -> PlanOptions:
    return PlanOptions(**{"mechanism": MECHANISM, "quorum": 2, "batch_size": 4, **changes})


def run(federation: Federation, chosen: PlanOptions | None = None, **more: Any) -> LabelResult:
    """Label the pool; arguments other than `student` and `task_file` set how the run works."""
    files = {key: more.pop(key) for key in ("student", "task_file") if key in more}
    how = LabellingRun(**{"retry": replace(QUICK, sleep=federation.sleep), **more})
    return label(federation.site, federation.pool, chosen or options(), run_of(federation), run=how, **files)


def run_of(federation: Federation) -> Path:
    return federation.root / "run"


def asked(federation: Federation, batch: int = 1) -> list[int]:
    """Return the queries of a batch, in the order they were sent."""
    return list(load_state(run_of(federation)).batches[batch - 1].queries)


def session_of(federation: Federation) -> str:
    return load_state(run_of(federation)).session_id


def rows(federation: Federation) -> list[tuple[str, str, str]]:
    with (run_of(federation) / "labels.csv").open(newline="") as file:
        return [(row["id"], row["label"], row["status"]) for row in csv.DictReader(file)]


def right(queries: int) -> list[tuple[str, str, str]]:
    return [(str(row), ("ant", "bee", "cat")[row % 3], "answered") for row in range(queries)]
