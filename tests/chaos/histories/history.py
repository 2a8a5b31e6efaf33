"""One history: its steps, their effects, and what failed; a failing history is shortened."""

from __future__ import annotations

import random
import traceback
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from ostraka.common.errors import OstrakaError
from ostraka.guardian.ledger.sessions.batches import BudgetedMeanwhileError
from ostraka.guardian.ledger.units.publications import OutdatedError
from tests.chaos.histories import administering, asking, promises
from tests.chaos.histories.administering import come_back
from tests.chaos.histories.federation import BEGINNINGS, Beginnings, Federation
from tests.chaos.places import folder, places
from tests.engines import share_compiled_statements

STEPS: dict[str, tuple[Callable[[Federation, random.Random], str], float]] = {
    "ticket": (asking.ticket, 5),
    "release": (asking.release, 5),
    "settle": (asking.settle, 0.3),
    "evaluate": (asking.evaluate, 0.7),
    "register": (administering.register, 1.5),
    "regroup": (administering.regroup, 2),
    "set budget": (administering.set_budget, 2),
    "withdraw": (administering.withdraw, 0.6),
    "renew": (administering.renew, 0.2),
    "publish": (administering.publish, 4),
    "save": (administering.save, 0.5),
    "lose": (administering.lose, 0.6),
    "come back": (administering.come_back, 0.8),
    "take over": (administering.take_over, 0.2),
    "go on": (administering.go_on, 2),
}
"""Each step, and how often it is drawn."""
SHORTEST, LONGEST = 6, 20
_PAUSES_S = (0.0, 0.001, 1.0)


class Step(NamedTuple):
    """The kind of a step, and the seed of its own choices, which do not depend on other steps."""

    kind: str
    seed: int


class Plot(NamedTuple):
    """How a federation begins, and the steps it goes through."""

    beginning: int
    steps: tuple[Step, ...]


@dataclass(frozen=True)
class History:
    """How a history ended.

    Attributes:
        seed: its seed.
        steps: number of steps.
        releases: number of released batches.
        publications: number of published epsilons.
        problems: what failed.
        events: what happened, one event a line; for a failed history, those of the shortest that fails the
            same way.
    """

    seed: int
    steps: int
    releases: int
    publications: int
    problems: list[str]
    events: list[str]


def histories(
    backend: str, seeds: Iterable[int], longest: int = LONGEST, *, shorten: bool = True
) -> Iterator[History]:
    """Yield the histories of all `seeds`, with at most `longest` steps; failed ones shortened if wanted."""
    share_compiled_statements()
    with places(backend) as place, folder() as own:
        beginnings = Beginnings(backend, place, own)
        for seed in seeds:
            plot = drawn(seed, longest)
            made, events, problems = _run(beginnings, plot)
            if problems and shorten:
                shortest = _shortened(beginnings, plot)
                made, events, problems = _run(beginnings, shortest)
            batches, publications = made.truth.batches, made.truth.publications
            released = sum(batch.state == "released" for batch in batches)
            yield History(seed, len(plot.steps), released, len(publications), problems, events)


def drawn(seed: int, longest: int = LONGEST) -> Plot:
    """Draw the steps of a history."""
    draws = random.Random(seed)  # noqa: S311
    kinds, often = list(STEPS), [weight for _, weight in STEPS.values()]
    wanted = draws.choices(kinds, often, k=draws.randint(SHORTEST, longest))
    steps = tuple(Step(kind, draws.getrandbits(32)) for kind in ["ticket", "release", *wanted])
    return Plot(draws.randrange(BEGINNINGS), steps)


def _run(beginnings: Beginnings, plot: Plot) -> tuple[Federation, list[str], list[str]]:
    """Return a federation after its steps, what happened, and what failed after the last step."""
    made = beginnings.new(plot.beginning)
    events: list[str] = []
    checked: object = None
    try:
        for step in plot.steps:
            draws = random.Random(step.seed)  # noqa: S311
            made.clock.advance(draws.choice(_PAUSES_S))
            events.append(_took(made, step, draws))
            known = made.budgets()
            problems = made.problems or ([] if known is checked else list(promises.broken(made)))
            if problems:
                return made, events, problems
            checked = known
        return made, events, []
    finally:
        made.stop()


def _took(made: Federation, step: Step, draws: random.Random) -> str:
    act, _ = STEPS[step.kind]
    try:
        return act(made, draws) if any(not s.away for s in made.sites.values()) else come_back(made, draws)
    except OstrakaError as exc:
        return f"{step.kind}: refused, {exc.code}: {exc.message}"
    except (OutdatedError, BudgetedMeanwhileError):
        return f"{step.kind}: would be read again"
    except Exception:
        made.problems.append(traceback.format_exc())
        return f"{step.kind}: an error that nobody foresaw"


def _shortened(beginnings: Beginnings, plot: Plot) -> Plot:
    """Remove every step without which the history still fails, starting with the last ones."""
    steps: tuple[Step, ...] = plot.steps
    before = None
    while before != steps:
        before, place = steps, len(steps) - 1
        while place >= 0:
            fewer = (*steps[:place], *steps[place + 1 :])
            _, events, problems = _run(beginnings, Plot(plot.beginning, fewer))
            if problems:
                steps = fewer[: len(events)]
            place = min(place, len(steps)) - 1
    return Plot(plot.beginning, steps)
