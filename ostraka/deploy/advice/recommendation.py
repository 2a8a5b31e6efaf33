"""One recommendation: a way with its reason and command, or nothing."""

from collections.abc import Sequence
from dataclasses import dataclass

from ostraka.common.console.texts import epsilon_text
from ostraka.deploy.advice.comparison import OFFERED, WayFigures
from ostraka.deploy.advice.measures import Figure
from ostraka.deploy.advice.splits import Amounts

WORTH = 0.005
"""Least gain of the judged figure: half a point, midway between nothing and the point that is worth a budget.
Estimates err in both directions equally often: requiring a whole point would exclude half of all ways that
gain one."""
SURE = 0.25
"""Standard errors by which a gain must exceed 0: it is then more likely real than not, three to two. With a
larger value, own records alone are recommended where other ways help; it was set on the tables that `python
-m benchmarks.advice --tuning` runs."""
TIED = 1.0
"""Standard errors behind the best way within which a way counts as equal: the one-standard-error rule of
Breiman and others (1984)."""
STEADIEST = ("gradients", "moments", "bins", "boost")
"""Sums in order of preference among equally good ways: fewer values take less noise and are less often good
by chance. Votes come last: they pay for labels, and leave no model."""
FEW_LABELS = 10
"""Number of bought labels up to which it is given as the reason."""
NAMES = {"accuracy": "accuracy", "balanced_accuracy": "balanced accuracy", "r2": "R^2"}


@dataclass(frozen=True)
class Recommendation:
    """What to do.

    Attributes:
        way: "sums", "votes" or "nothing".
        variant: of the way.
        sentence: what to do, and why.
        commands: to run, in order; empty if nothing is recommended, or if no files are known.
    """

    way: str
    variant: str
    sentence: str
    commands: tuple[str, ...] = ()


def recommend(ways: Sequence[WayFigures], judged: Figure, amounts: Amounts, epsilon: float) -> Recommendation:
    """Recommend the steadiest of the best ways, or nothing if no way is likely to gain."""
    offered = [one for one in ways if one.way in OFFERED]
    trivial = next(one for one in ways if one.way == "nothing")
    worth = [one for one in offered if _is_worth(one, trivial, judged)]
    tied = [one for one in worth if one.behind <= TIED * one.behind_error]
    # If the way with the largest gain may have it by chance, no way is tied with it.
    best = min(tied, key=_rank, default=max(worth, key=lambda one: one.gain, default=None))
    if best is None:
        nearest = max(offered, key=lambda one: one.gain, default=None)
        return _do_nothing(ways, nearest, judged, amounts, epsilon)
    return Recommendation(best.way, best.variant, _praise(best, ways, judged))


def _is_worth(one: WayFigures, trivial: WayFigures, judged: Figure) -> bool:
    """Whether a way gains enough over own records and over the most frequent class, and not by chance."""
    over_trivial = one.figure(judged).estimate - trivial.figure(judged).estimate
    return one.gain >= max(WORTH, SURE * one.gain_error) and over_trivial >= WORTH


def _rank(one: WayFigures) -> int:
    return STEADIEST.index(one.variant) if one.variant in STEADIEST else len(STEADIEST)


def _base(ways: Sequence[WayFigures]) -> WayFigures:
    own = [one for one in ways if one.way == "own"]
    return own[0] if own else next(one for one in ways if one.way == "nothing")


def name_way(one: WayFigures) -> str:
    """Return a way in words."""
    match one.way:
        case "sums":
            return f"noisy sums by {one.variant}"
        case "votes":
            return f"votes of {one.settings['total']} teachers"
        case "own":
            return f"your own records alone ({one.variant})"
        case "nothing":
            return "always saying the mean" if one.r2 is not None else "always saying the most frequent"
        case "pooled":
            return f"all records in one place ({one.variant})"
    return one.way


def _tell(one: WayFigures, judged: Figure) -> str:
    value = value_text(one.figure(judged).estimate, judged)
    return f"an R^2 of {value}" if judged == "r2" else f"{value} {NAMES[judged]}"


def value_text(value: float, judged: Figure) -> str:
    """Return a figure as text."""
    return f"{value:.3f}" if judged == "r2" else f"{value:.1%}"


def points_text(value: float, judged: Figure) -> str:
    """Return a difference of figures as text."""
    return f"{value:+.3f}" if judged == "r2" else f"{100 * value:+.1f} points"


def _praise(best: WayFigures, ways: Sequence[WayFigures], judged: Figure) -> str:
    base = _base(ways)
    error = points_text(best.gain_error, judged).removeprefix("+")
    return (
        f"Use {name_way(best)}: {_tell(best, judged)} is expected, where {name_way(base)} "
        f"has {value_text(base.figure(judged).estimate, judged)} ({points_text(best.gain, judged)}, "
        f"standard error {error})."
    )


def _do_nothing(
    ways: Sequence[WayFigures], best: WayFigures | None, judged: Figure, amounts: Amounts, epsilon: float
) -> Recommendation:
    base = _base(ways)
    yours = f"your {amounts.own:,} records do as well" if amounts.own else "nobody's records help"
    trivial = next(one for one in ways if one.way == "nothing")
    if base.figure(judged).estimate < trivial.figure(judged).estimate:
        own = value_text(base.figure(judged).estimate, judged)
        yours = f"not even your own records, with {own}, tell more than {name_way(trivial)}"
        base = trivial
    told = f"Do nothing: {yours} ({_tell(base, judged)}"
    if best is not None:
        told += (
            f"; {name_way(best)}, the best of the rest, {value_text(best.figure(judged).estimate, judged)}"
        )
    told += f"). {_reason(ways, judged, amounts, epsilon)}"
    return Recommendation("nothing", "", told)


def _reason(ways: Sequence[WayFigures], judged: Figure, amounts: Amounts, epsilon: float) -> str:
    pooled = next(one for one in ways if one.way == "pooled")
    votes = next((one for one in ways if one.way == "votes"), None)
    if pooled.gain < WORTH:
        return "Even all records in one place, without any noise, would gain less than half a point."
    reasons = [
        f"At epsilon {epsilon_text(epsilon)} the noise on sums of {amounts.private:,} records hides it"
    ]
    if votes is None:
        reasons.append("there are too few records for teachers to vote")
    elif votes.labels < FEW_LABELS:
        reasons.append(f"votes buy {votes.labels:.0f} labels")
    trivial = next(one for one in ways if one.way == "nothing")
    if judged == "balanced_accuracy" and trivial.accuracy is not None:
        reasons.append(f"only {1 - trivial.accuracy.estimate:.0%} are not of the most frequent class")
    return f"{', and '.join(reasons)}: more records, more sites or a larger epsilon would."
