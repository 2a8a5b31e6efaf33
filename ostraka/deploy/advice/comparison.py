"""Comparison of ways over splits: figures with intervals, and each gain over own records alone."""

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
"""Ostraka's ways for records that stay secret; one of them may be recommended."""
LISTED: tuple[WayName, ...] = ("sums",)
"""Ways with every variant shown, because people choose between learners. Other ways show only the best
variant.
"""


@dataclass(frozen=True)
class WayFigures:
    """A way, and its expected figures.

    Attributes:
        way: its name; `variant` refines it.
        variant: a learner, a kind of model, or how many records teachers have.
        epsilon: of each site's budget; None if nothing is released.
        accuracy: with the interval of one more outcome; None for numbers.
        balanced_accuracy: the same.
        r2: the same for numbers; None otherwise.
        gain: of the judged figure, over own records alone, or over the most frequent class if there are none;
            `gain_error` is its standard error.
        gain_error: of the gain.
        behind: difference to Ostraka's best way, by the same figure; `behind_error` is its standard error.
        behind_error: of that difference.
        labels: bought labels, on average.
        seconds: processor time, on average.
        settings: settings of its command, from the first split.
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
        """Return a figure that must exist."""
        found: Interval | None = getattr(self, name)
        assert found is not None  # noqa: S101 - of the figure that ways are judged by there is one
        return found


def compare_ways(
    attempts: Sequence[Attempt], epsilon: float, judged: Figure, amounts: Amounts
) -> tuple[WayFigures, ...]:
    """Return the figures of each way that was tried on every split, in the order of the attempts."""
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
