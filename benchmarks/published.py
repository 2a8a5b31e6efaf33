"""What the published runs of 002 cost by every bound: epsilons for the same votes and released labels."""

import json
import math
from pathlib import Path
from typing import Any

import numpy as np

from ostraka.common.privacy import ORDERS, epsilon
from ostraka.guardian.accounting import confident_rdp
from ostraka.guardian.accounting.numerics.arguments import Bound, Floats

DATA = Path(__file__).parents[2] / "shared" / "data"
AT = np.array([order for order in ORDERS if order <= 32])
RUNS = {"MNIST": 0, "SVHN": 3}
COLUMNS = ("worst case", "theorem6, classic conversion", "theorem6", "exact")


def table() -> None:
    """Print a row for each run, or that the published votes are not there."""
    path = DATA / "golden_pate.json"
    if not path.exists():
        print("accounting of published runs: skipped, ../shared/data lies not beside the checkout")
        return
    runs = json.loads(path.read_text())["whole_runs"]
    print("epsilon of published runs".ljust(40), *(f"{column:>14}" for column in COLUMNS))
    for name, index in RUNS.items():
        run = runs[index]
        label = f"{name}, {run['n_queries']:,} queries, {len(run['answered']):,} answered"
        cells = zip(COLUMNS, epsilons(run), strict=True)
        print(label.ljust(40), *(f"{cost:>{max(14, len(column))}.4f}" for column, cost in cells))


def epsilons(run: dict[str, Any]) -> list[float]:
    """Return the costs of a run, in the order of COLUMNS."""
    worst, theorem6, exact = (_rdp(run, bound) for bound in ("worst_case", "theorem6", "exact"))
    classic = float((theorem6 + math.log(1 / run["delta"]) / (AT - 1)).min())
    tight = [epsilon(rdp.tolist(), AT.tolist(), run["delta"]) for rdp in (worst, theorem6, exact)]
    return [tight[0], classic, *tight[1:]]


def _rdp(run: dict[str, Any], bound: Bound) -> Floats:
    votes = np.load(DATA / run["votes_file"])[: run["n_queries"]]
    answered = np.zeros(len(votes), dtype=bool)
    answered[run["answered"]] = True
    rows = confident_rdp(votes, run["T"], run["sigma1"], run["sigma2"], AT, answered, bound=bound)
    return np.asarray(rows.sum(axis=0))
