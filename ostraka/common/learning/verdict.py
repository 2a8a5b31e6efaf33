"""Results of a student, or of teachers together, in sentences that are the same wherever they are shown."""

from collections.abc import Mapping
from typing import Any

from pydantic import TypeAdapter

from ostraka.common.learning.gain import Gain, Interval

STUDENT = "the student is"
_GAIN = TypeAdapter(Gain)


def tell_gain(gain: Gain, measured_on: str, who: str = STUDENT) -> str:
    """Return a student's accuracy, compared with own data alone and the most frequent class, with intervals.

    `measured_on` describes the records on which it was measured; `who` is the subject with its verb.
    """
    records = f"{gain.records} {measured_on}"
    of, over = (f"the labels of {records}", "labels") if gain.multi_label else (records, "classes")
    balanced = _share(
        f"Balanced accuracy over all {over}: {{}}", gain.balanced_accuracy, gain.balanced_over_own
    )
    always = _always(gain)
    comma = "," if gain.most_frequent else ""
    trivial = f"{_begin(always)}{comma} is right on {gain.majority:.1%} ({points_text(gain.over_majority)})."
    return " ".join(
        [_share(f"{_begin(who)} right on {{}} of {of}", gain.accuracy, gain.over_own), balanced, trivial]
    )


def doubts(
    gain: Gain, measured_on: str, who: str = STUDENT, learned_from: str = "the labels"
) -> tuple[str, ...]:
    """Return why it may be worse than its accuracy suggests, in sentences; mostly empty."""
    what = learned_from.removeprefix("the ")
    told = []
    own = gain.over_own
    if own is not None and own.high < 0:
        told.append(f"{_begin(learned_from)} made a worse {who.split()[1]} than own data alone.")
    elif own is not None and own.low <= 0:
        told.append(
            f"{gain.records} {measured_on} are too few to tell whether the {what} helped: the interval of the"
            " gain holds 0."
        )
    if gain.over_majority.estimate <= 0:
        told.append(f"{_begin(who)} no better than {_always(gain)}.")
    elif gain.over_majority.low <= 0:
        told.append(f"{_begin(who)} not certainly better than {_always(gain)}.")
    return tuple(told)


def read_gain(student: Mapping[str, Any]) -> Gain | None:
    """Return the gain of a student from its JSON; None if it was not measured.

    Raises `pydantic.ValidationError` for other values.
    """
    found = student.get("gain")
    return None if found is None else _GAIN.validate_python(found)


def _begin(words: str) -> str:
    return words[:1].upper() + words[1:]


def _always(gain: Gain) -> str:
    if gain.multi_label:
        return "always saying the most frequent value of each label"
    name = f" '{gain.most_frequent}'," if gain.most_frequent else ""
    return f"always saying{name} the most frequent class"


def _share(words: str, found: Interval, over_own: Interval | None) -> str:
    told = words.format(f"{found.estimate:.1%} (95% interval {found.low:.1%} to {found.high:.1%})")
    if over_own is None:
        return f"{told}."
    return f"{told}, by own data alone {found.estimate - over_own.estimate:.1%} ({points_text(over_own)})."


def interval_text(found: Interval) -> str:
    """Return a figure with its interval."""
    return f"{found.estimate:.3g} ({found.low:.3g} to {found.high:.3g})"


def points_text(interval: Interval) -> str:
    """Return a difference of shares in points, with its interval."""
    estimate, low, high = (100 * value for value in (interval.estimate, interval.low, interval.high))
    return f"{estimate:+.1f} points, 95% interval {low:+.1f} to {high:+.1f}"
