"""The result of a search: figures in JSON's types, and for people."""

import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from rich.table import Table

from ostraka.common.console.screen import Screen, table_of
from ostraka.common.console.texts import epsilon_text
from ostraka.common.planning.search.floor import FEW_LABELS, Floor
from ostraka.common.planning.search.search import Outcome, Point, Search
from ostraka.common.privacy.filters import filter_text

CAVEAT = (
    "The search reads every vote, so the votes must be public, simulated or assumed. A "
    "result from private votes reveals them and must not be used."
)


def figures(
    search: Search, points: Sequence[Point], commands: Sequence[Sequence[str]], **about: Any
) -> dict[str, Any]:
    """Return the result in JSON's types; the last point is the whole budget, and gives the `mechanisms`.

    `about` describes what was searched, and `commands` are the next commands to run.
    """
    sample = search.forecaster.sample
    return {
        **about,
        "queries": search.queries,
        "classes": sample.classes,
        "teachers": sample.teachers,
        "several": sample.multi_label,
        "rare": sample.has_rare_class,
        "searched_queries": len(sample.counts),
        "accuracy_without_noise": search.forecaster.noiseless(),
        "least_accuracy": search.least_accuracy,
        "floor": None if search.floor is None else search.floor.value,
        "best": points[-1].outcomes[0].figures(),
        "mechanisms": [outcome.figures() for outcome in points[-1].outcomes],
        "frontier": [_point(point) for point in points],
        "commands": [shlex.join(command) for command in commands],
    }


def tell_advice(best: Outcome, floor: Floor | None, command: Sequence[str]) -> str:
    """Return one line on the value of the best plan, with a command for details."""
    measure = f"what they add to your own records: {shlex.join(command)}"
    if best.answers < FEW_LABELS:
        return f"Advice: {best.answers:.0f} labels teach nothing; ask for sums, or none. To see {measure}"
    if floor is None or best.gain is None:
        return f"Advice: see {measure}"
    return (
        f"Advice: these labels are right {100 * best.gain:.1f} points more often than what is free "
        f"({floor.words}); before any is paid for, see {measure}"
    )


def lines(points: Sequence[Point]) -> dict[str, list[tuple[float, float]]]:
    """Return points (epsilon, right labels) for each kind of mechanism, with or without a check, to draw."""
    found: dict[str, list[tuple[float, float]]] = {}
    for point in points:
        best = {_kind(one): one.right for one in reversed(point.outcomes)}
        for kind, right in best.items():
            found.setdefault(kind, []).append((point.epsilon, right))
    return found


def show(found: Mapping[str, Any], console: Screen) -> None:
    """Print the result without the advice, which is printed last."""
    balanced = found["several"] or found["rare"]
    answers = "labels (balanced over yes and no)" if balanced else "labels"
    console.print(
        f"{found['queries']:,} queries, {found['teachers']} teachers, votes {found['votes']}, bound "
        f"{found['bound']}; {found['accuracy_without_noise']:.1%} of the {answers} are right without noise, "
        f"at least {found['least_accuracy']:.1%} are asked for. Expected for epsilon "
        f"{epsilon_text(found['frontier'][-1]['epsilon'])}:",
        soft_wrap=True,
    )
    console.print(_outcomes(found["mechanisms"]))
    console.print("The best for smaller budgets:")
    console.print(_frontier(found["frontier"]))
    console.print("To run the first:")
    for command in found["commands"]:
        console.print(f"  {command}", soft_wrap=True)
    console.print(CAVEAT, soft_wrap=True)


def _point(point: Point) -> dict[str, Any]:
    best: Outcome | None = point.outcomes[0] if point.outcomes else None
    return {
        "epsilon": point.epsilon,
        "best": None if best is None else best.figures(),
        "right": {_kind(one): one.right for one in reversed(point.outcomes)},
    }


def _kind(outcome: Outcome) -> str:
    return outcome.mechanism.kind


def _outcomes(outcomes: Sequence[Mapping[str, Any]]) -> Table:
    return table_of(("mechanism", "filter", *_COUNTED), map(_cells, outcomes))


def _frontier(points: Sequence[Mapping[str, Any]]) -> Table:
    nothing = ("none", "", "0", "0", "0", "", "")
    rows = (
        (epsilon_text(point["epsilon"]), *(_cells(point["best"]) if point["best"] else nothing))
        for point in points
    )
    return table_of(("epsilon", "mechanism", "filter", *_COUNTED), rows)


_COUNTED = ("asked", "labels", "right", "accuracy", "gain in points")


def _cells(one: Mapping[str, Any]) -> Sequence[str]:
    """Return the mechanism, its filter, and the counts."""
    gain = "-" if one["gain"] is None else f"{100 * one['gain']:+.1f}"
    counts = (f"{one[name]:,.0f}" for name in ("asked", "labels", "right"))
    shares = (f"{one['accuracy']:.1%}", gain)
    return _mechanism_text(one["mechanism"]), filter_text(one["order"]), *counts, *shares


def _mechanism_text(mechanism: Mapping[str, Any]) -> str:
    shown = [name for name in mechanism if name not in ("kind", "check")]
    given = {name: mechanism[name] for name in shown if mechanism[name] is not None}
    given |= {f"check {name}": value for name, value in (mechanism.get("check") or {}).items()}
    return f"{mechanism['kind']}: {', '.join(f'{name} {value:g}' for name, value in given.items())}"
