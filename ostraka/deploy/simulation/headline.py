"""What a simulation came to, in sentences for people."""

from collections.abc import Iterator

from ostraka.client.students.gain import Gain, Interval
from ostraka.deploy.simulation.guarantees import promise_words
from ostraka.deploy.simulation.report import SimulationReport, UnitSpending


def headline(report: SimulationReport) -> str:
    """Return how good the student is, beside what it would be without the labels, and what that cost."""
    return " ".join([*_student(report), *_spending(report)])


def split_sentence(report: SimulationReport) -> str:
    """Return where every record of the data went, and which test records all teachers were asked about."""
    found = report.records
    total = found.labelled + found.pool + found.test + found.parties
    told = (
        f"{total} records: {found.labelled} the querying party's own, {found.pool} its pool, {found.test} to"
        f" test on, {found.parties} with {len(report.holdings)} parties."
    )
    asked = report.quality.ensemble_records
    if asked == found.test:
        return told
    return f"{told} The teachers without privacy are tested on {asked} of the {found.test}, drawn at random."


def warnings(report: SimulationReport) -> tuple[str, ...]:
    """Return what keeps the figures from meaning what they seem to mean; none for most reports."""
    return (*_one_class(report), *_no_gain(report.gain))


def _student(report: SimulationReport) -> Iterator[str]:
    found = report.gain
    before, after = report.student_accuracy_before, report.student_accuracy_after
    what = "labels of test records" if report.labels else "test records"
    if found is None:
        yield f"The student is right on {after:.1%} of the {what}, by own data alone on {before:.1%}."
        return
    of = f"the labels of {found.records} test records" if report.labels else f"{found.records} test records"
    yield f"The student is right on {after:.1%} of {of}, by own data alone on {before:.1%}"
    if found.over_own is not None:
        yield f"({_points(found.over_own)})."
    constant = "value of each label" if report.labels else "class"
    yield f"Always saying the most frequent {constant} is right on {found.majority:.1%}"
    yield f"({_points(found.over_majority)})."
    balanced = found.balanced_accuracy
    yield f"Balanced accuracy over all {'labels' if report.labels else 'classes'}: {balanced.estimate:.1%}"
    yield f"({balanced.low:.1%} to {balanced.high:.1%})."


def _spending(report: SimulationReport) -> Iterator[str]:
    if not report.units:
        return
    costs = [_spent(unit) for unit in report.units]
    budgets = sorted({unit.epsilon_budget for unit in report.units})
    spent = f"{min(costs):.2f}" if min(costs) == max(costs) else f"{min(costs):.2f} to {max(costs):.2f}"
    among = " to ".join(f"{budget:g}" for budget in sorted({budgets[0], budgets[-1]}))
    yield f"Each party spent {spent} of its epsilon of {among} ({promise_words(report.guarantee)})."


def _spent(unit: UnitSpending) -> float:
    enforced = unit.enforce == "data_dependent"
    return unit.epsilon_data_dependent if enforced else unit.epsilon_worst_case


def _points(interval: Interval) -> str:
    """Return a difference of shares in points, with its interval."""
    estimate, low, high = (100 * value for value in (interval.estimate, interval.low, interval.high))
    return f"{estimate:+.1f} points, 95% interval {low:+.1f} to {high:+.1f}"


def _one_class(report: SimulationReport) -> Iterator[str]:
    told = {one.name for one in report.classes if one.right or one.wrong}
    silent = [one.name for one in report.classes if one.unanswered and not (one.right or one.wrong)]
    if report.answered and silent:
        yield (
            f"No record of class {', '.join(silent)} got a label, only of {', '.join(sorted(told))}: the"
            " labels teach nothing about it, and counted over all classes it is a class with no label right."
        )


def _no_gain(found: Gain | None) -> Iterator[str]:
    if found is None:
        return
    over_own = found.over_own
    if over_own is not None and over_own.high < 0:
        yield "The labels made the student worse."
    elif over_own is not None and over_own.low <= 0 <= over_own.high:
        yield (
            f"{found.records} test records are too few to tell whether the labels helped: the interval of the"
            " gain holds 0."
        )
    if found.over_majority.low <= 0:
        yield "The student is not certainly better than always saying the most frequent class."
