"""Ways compared over splits: figures with intervals, and what each gains over own records alone."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ostraka.common.learning.gain import Interval
from ostraka.deploy.advice.attempts import Attempt, WayName
from ostraka.deploy.advice.measures import Figure, compare, expect
from ostraka.deploy.advice.splits import Amounts

FIGURES: tuple[Figure, ...] = ("accuracy", "balanced_accuracy", "r2")
OFFERED: tuple[WayName, ...] = ("sums", "votes")
"""Ways that are Ostraka's for records that stay secret, of which one may be recommended."""
LISTED: tuple[WayName, ...] = ("sums",)
"""Ways of which every variant is shown: people choose between learners. Of others it is the best one."""


@dataclass(frozen=True)
class WayFigures:
    """A way, and what to expect of it.

    Attributes:
        way: by name; `variant` of it.
        variant: a learner, a kind of model, or how many records teachers have.
        epsilon: of each site's budget; None where nothing is released.
        accuracy: with the interval of one more outcome; None for numbers.
        balanced_accuracy: the same.
        r2: the same of numbers; None for others.
        gain: of the figure that ways are judged by, over own records alone, or over the most frequent class
            where there are none; `gain_error` is its standard error.
        gain_error: of the gain.
        behind: of the best way that Ostraka offers, by the same figure; `behind_error` is its standard error.
        behind_error: of that.
        labels: bought, on average.
        seconds: of the processor, on average.
        settings: what a command for it needs, of the first split.
    """

    way: WayName
    variant: str
    epsilon: float | None
    accuracy: Interval | None
    balanced_accuracy: Interval | None
    r2: Interval | None
    gain: float
    gain_error: float
    behind: float
    behind_error: float
    labels: float
    seconds: float
    settings: dict[str, Any] = field(default_factory=dict)

    def figure(self, name: Figure) -> Interval:
        """Return one that there is."""
        found: Interval | None = getattr(self, name)
        assert found is not None  # noqa: S101 - of the figure that ways are judged by there is one
        return found


def compare_ways(
    attempts: Sequence[Attempt], epsilon: float, judged: Figure, amounts: Amounts
) -> tuple[WayFigures, ...]:
    """Return the figures of each way that was tried on every split, in the order in which they were tried."""
    variants: dict[tuple[WayName, str], list[Attempt]] = {}
    for one in attempts:
        if one.epsilon in (None, epsilon):
            variants.setdefault((one.way, one.variant), []).append(one)
    splits = max(map(len, variants.values()))
    whole = {key: found for key, found in variants.items() if len(found) == splits}
    kept = _best_variants(whole, judged)
    base = kept.get("own", kept["nothing"])
    best = max(
        (one for key, one in whole.items() if key[0] in OFFERED),
        key=lambda one: _mean(one, judged),
        default=base,
    )
    share = amounts.test / max(1, amounts.own + amounts.shown)
    shown = [found for (way, _), found in whole.items() if way in LISTED or found is kept[way]]
    return tuple(_figures(found, base, best, judged, amounts.test, share) for found in shown)


def _best_variants(
    variants: dict[tuple[WayName, str], list[Attempt]], judged: Figure
) -> dict[WayName, list[Attempt]]:
    best: dict[WayName, list[Attempt]] = {}
    for (way, _), found in variants.items():
        if way not in best or _mean(found, judged) > _mean(best[way], judged):
            best[way] = found
    return best


def _mean(attempts: Sequence[Attempt], judged: Figure) -> float:
    return float(np.mean([one.measured.figure(judged) for one in attempts]))


def _figures(
    found: Sequence[Attempt],
    base: Sequence[Attempt],
    best: Sequence[Attempt],
    judged: Figure,
    test: int,
    share: float,
) -> WayFigures:
    first = found[0]
    intervals = {
        name: None
        if getattr(first.measured, name) is None
        else expect([one.measured.figure(name) for one in found], name, test)
        for name in FIGURES
    }
    values, of_base, of_best = ([one.measured.figure(judged) for one in each] for each in (found, base, best))
    gain, error = compare(values, of_base, share)
    behind, behind_error = compare(of_best, values, share)
    return WayFigures(
        first.way,
        first.variant,
        first.epsilon,
        **intervals,
        gain=gain,
        gain_error=error,
        behind=behind,
        behind_error=behind_error,
        labels=float(np.mean([one.labels for one in found])),
        seconds=float(np.mean([one.seconds for one in found])),
        settings=first.settings,
    )
