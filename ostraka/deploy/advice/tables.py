"""Advice as text: one table, and one recommendation."""

from collections.abc import Iterable, Iterator, Sequence

from rich.console import Console

from ostraka.common.console.screen import table_of
from ostraka.common.console.texts import epsilon_text, number_text
from ostraka.common.learning.gain import Interval
from ostraka.common.privacy.guarantees import DELTA
from ostraka.deploy.advice.advise import Advice
from ostraka.deploy.advice.comparison import WayFigures
from ostraka.deploy.advice.recommendation import NAMES, WORTH, points_text

LOCAL = "What is printed here tells of the table: unless that is public, keep it to yourself."
NOTES = 5
"""Number of notes on the table that are printed, first how its file was read; the JSON has all."""
MINUTE_S = 60


def show(advice: Advice, console: Console, setting: Iterable[str] | None = None) -> None:
    """Print what was tried, the expected value of each way, and what to do; `setting` says who has what."""
    for sentence in tell_setting(advice) if setting is None else setting:
        console.print(sentence, soft_wrap=True)
    console.print(table_of(head(advice), rows(advice), "Expected, with 95% intervals of one outcome"))
    console.print(advice.recommendation.sentence, soft_wrap=True)
    for command in advice.recommendation.commands:
        console.print(f"  {command}", soft_wrap=True)
    for sentence in tell_limits(advice):
        console.print(sentence, soft_wrap=True)


def tell_setting(advice: Advice) -> Iterator[str]:
    """Yield sentences on who has which records, and what was tried."""
    amounts = advice.amounts
    options = advice.options
    skewed = "" if options.skew is None else f", whose classes differ (Dirichlet {options.skew:g})"
    yield (
        f"{options.parties} sites with {amounts.private:,} records together{skewed}, epsilon "
        f"{number_text(options.epsilon)} each at delta {number_text(DELTA)}; you have {amounts.own:,} "
        f"labelled records and a pool of {amounts.pool:,}."
    )
    used = amounts.own + amounts.pool + amounts.test + amounts.shown
    sampled = "" if used >= advice.rows else f" {used:,} of its {advice.rows:,} rows were drawn."
    stand = ""
    if amounts.weight > 1:
        stand = (
            f" The sites' records are {amounts.shown:,} of it, each of which counts "
            f"{amounts.weight:.3g} times."
        )
    yield (
        f"The table was dealt out {advice.splits} times, {amounts.test:,} records each to measure on."
        f"{sampled}{stand} Ways are compared by {NAMES[advice.judged_by]}."
    )
    yield from advice.notes[:NOTES]
    if len(advice.notes) > NOTES:
        yield f"{len(advice.notes) - NOTES} more notes on columns are in the JSON."


def tell_limits(advice: Advice) -> Iterator[str]:
    """Yield the limits of the advice, apart from the recommendation."""
    randomised = [one for one in advice.ways if one.way == "randomised labels"]
    if randomised and randomised[0].gain >= WORTH:
        gain = points_text(randomised[0].gain, advice.judged_by)
        yield (
            "Where everybody may see the features and labels alone are secret, randomised labels gain "
            f"{gain} (docs/label-dp.md)."
        )
    yield LOCAL
    yield f"It took {_duration(advice.seconds)} of the processor."


def _duration(seconds: float) -> str:
    return f"{seconds:.0f} seconds" if seconds < MINUTE_S else f"{seconds / MINUTE_S:.1f} minutes"


def head(advice: Advice) -> Sequence[str]:
    """Return the columns of the table of ways."""
    figures = ("R^2",) if advice.judged_by == "r2" else ("accuracy", "balanced accuracy")
    gain = "gain" if advice.judged_by == "r2" else "gain in points"
    return ("way", *figures, gain, "labels", "costs each site", "seconds")


def rows(advice: Advice) -> Iterator[tuple[str, ...]]:
    """Yield a row for each way."""
    for one in advice.ways:
        figures = (one.r2,) if advice.judged_by == "r2" else (one.accuracy, one.balanced_accuracy)
        yield (
            _name(one),
            *(_interval(figure, percent=advice.judged_by != "r2") for figure in figures),
            points_text(one.gain, advice.judged_by).removesuffix(" points"),
            f"{one.labels:,.0f}" if one.labels else "-",
            cost_of(one),
            f"{one.seconds:.1f}",
        )


def _name(one: WayFigures) -> str:
    """Return a way's name, short enough for a table."""
    match one.way:
        case "votes":
            return f"votes: {one.settings['total']} teachers"
        case "own" | "pooled" | "sums":
            return f"{one.way}: {one.variant}"
        case "nothing":
            return "always the mean" if one.r2 is not None else "always the most frequent"
    return one.way


def cost_of(one: WayFigures) -> str:
    """Return the cost of a way to each site, in words."""
    match one.way:
        case "sums" | "votes":
            return f"epsilon {epsilon_text(one.epsilon or 0.0)}"
        case "randomised labels":
            return f"features, label-DP {epsilon_text(one.epsilon or 0.0)}"
        case "pooled":
            return "all records"
    return "nothing"


def _interval(figure: Interval | None, *, percent: bool) -> str:
    if figure is None:
        return "-"
    values = (figure.estimate, figure.low, figure.high)
    mean, low, high = (f"{100 * value:.1f}" if percent else f"{value:.2f}" for value in values)
    return f"{mean} ({low}-{high})" if percent else f"{mean} ({low} to {high})"
