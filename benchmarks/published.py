"""Epsilons of the published runs of Papernot et al. 2018 by every bound, for the same released labels."""

import json
import math
import os
from pathlib import Path
from typing import Any

import numpy as np

from ostraka.common.mechanism import Confident
from ostraka.common.privacy import ORDERS, epsilon, epsilon_by_answers
from ostraka.guardian.accounting import confident_rdp
from ostraka.guardian.accounting.numerics.arguments import Bound, Floats

DATA = Path(os.environ.get("OSTRAKA_BENCHMARK_DATA") or Path(__file__).parents[2] / "shared" / "data")
"""The data folder: beside the checkout, or the variable's value."""
AT = np.array([order for order in ORDERS if order <= 32])
NEAR = 6
"""Number of orders on either side of the best one for which charges by label are computed."""
FIXED = (2.0, 3.0, 4.0, 6.0, 8.0, 12.0, 16.0, 24.0, 32.0)
"""Orders that are fixed before the first answer; choosing the best afterwards costs delta."""
RUNS = {"MNIST": 0, "MNIST, other noise": 1, "SVHN": 3}
COLUMNS = (
    "papers' worst case",
    "worst case",
    "theorem6, classic conversion",
    "theorem6",
    "exact by outcome",
    "exact by label",
)


def table() -> None:
    """Print a row for each run, or that the published votes are missing."""
    path = DATA / "golden_pate.json"
    if not path.exists():
        print("accounting of published runs: skipped, ../shared/data lies not beside the checkout")
        return
    runs = json.loads(path.read_text())["whole_runs"]
    print("epsilon of published runs".ljust(40), *(f"{column:>14}" for column in COLUMNS))
    for name, index in RUNS.items():
        run = runs[index]
        label = f"{name}, {run['n_queries']:,} queries, {len(run['answered']):,} answered"
        _print(label, epsilons(run))
        _print(f"  the best of {len(FIXED)} orders, paid for", [math.nan, *data_dependent_cost(run)])


def _print(label: str, costs: list[float]) -> None:
    cells = zip(COLUMNS, costs, strict=True)
    shown = ((f"{cost:.4f}" if cost == cost else "", max(14, len(column))) for column, cost in cells)
    print(label.ljust(40), *(cell.rjust(width) for cell, width in shown))


def data_dependent_cost(run: dict[str, Any]) -> list[float]:
    """Return what the charges guarantee (docs/accounting.md, "Costs that follow answers"), in that order."""
    orders = np.array(FIXED)
    share = run["delta"] / len(orders)
    exact = _rdp(run, "exact", orders)
    best = min(range(len(orders)), key=lambda i: _epsilon(exact[i : i + 1], orders[i : i + 1], share))
    near = orders[max(0, best - 1) : best + 2]
    told = [(_worst_case_cost(run, orders), orders), (_rdp(run, "theorem6", orders), orders), (exact, orders)]
    told.append((_rdp(run, "exact", near, by_label=True), near))
    worst, *others = (epsilon_by_answers(rdp.tolist(), at.tolist(), share * len(at)) for rdp, at in told)
    return [worst, math.nan, *others]


def epsilons(run: dict[str, Any]) -> list[float]:
    """Return the costs of a run, in the order of COLUMNS, each at the best order, chosen as in the papers.

    The choice is not paid for, although charges depend on answers: these compare bounds, and guarantee
    nothing.
    """
    worst, theorem6, exact = (_rdp(run, bound) for bound in ("worst_case", "theorem6", "exact"))
    classic = float((theorem6 + math.log(1 / run["delta"]) / (AT - 1)).min())
    delta = run["delta"]
    tight = [_epsilon(rdp, AT, delta) for rdp in (worst, _worst_case_cost(run), theorem6, exact)]
    best = min(range(len(AT)), key=lambda i: _epsilon(exact[i : i + 1], AT[i : i + 1], delta))
    near = AT[max(0, best - NEAR) : best + NEAR + 1]
    by_label = _rdp(run, "exact", near, by_label=True)
    return [*tight[:2], classic, *tight[2:], _epsilon(by_label, near, delta)]


def _epsilon(rdp: Floats, orders: Floats, delta: float) -> float:
    return epsilon(rdp.tolist(), orders.tolist(), delta)


def _worst_case_cost(run: dict[str, Any], orders: Floats = AT) -> Floats:
    """Return the ledger's worst-case charge, at each order: a check per query, an argmax per answer."""
    mechanism = Confident(sigma1=run["sigma1"], sigma2=run["sigma2"], threshold=run["T"])
    costs = [mechanism.worst_case(order, classes=10) for order in orders.tolist()]
    return np.array([run["n_queries"] * cost.check + len(run["answered"]) * cost.answer for cost in costs])


def _rdp(run: dict[str, Any], bound: Bound, orders: Floats = AT, *, by_label: bool = False) -> Floats:
    votes = np.load(DATA / run["votes_file"])[: run["n_queries"]]
    labels = np.full(len(votes), -1)
    labels[run["answered"]] = [int(label) for label in run["released"]]
    released = labels if by_label else None
    mechanism = run["T"], run["sigma1"], run["sigma2"]
    rows = confident_rdp(votes, *mechanism, orders, labels >= 0, labels=released, bound=bound)
    return np.asarray(rows.sum(axis=0))
