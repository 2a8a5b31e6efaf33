"""Printed view of a run's report."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from ostraka.client.describing import tables as description
from ostraka.client.fitting.tables import show_fit
from ostraka.client.session.run_state import Latecomers
from ostraka.client.students.dp_sgd.guarantee import dp_sgd_words
from ostraka.common.console.screen import table_of
from ostraka.common.console.texts import count_text, epsilon_text, number_text
from ostraka.common.learning.accuracy import METRICS, share
from ostraka.common.learning.verdict import doubts, read_gain, tell_gain
from ostraka.common.privacy.filters import filter_text

_ENCODINGS = {"plain": "as they are", "ckks": "encrypted (ckks)"}
_TALLIES = {"aggregate": "the guardian saw counts (aggregate)", "blind": "the guardian saw no counts (blind)"}


def show(figures: Mapping[str, Any], console: Console) -> None:
    """Print the result of `report`."""
    if "learner" in figures:
        show_fit(figures, console)
        return
    if "columns" in figures:
        description.show(figures, console)
        return
    console.print(Group(*(_rounds_parts(figures) if "rounds" in figures else _parts(figures))))


def _rounds_parts(figures: Mapping[str, Any]) -> Iterable[RenderableType]:
    yield Text(f"Rounds {figures['run']} of task {figures['task']}, a pool of {figures['pool']}.")
    if figures["stopped"]:
        yield Text(f"Stopped [{figures['stopped']['code']}]: {figures['stopped']['message']}")
    if figures["parties"]:
        yield rounds_table(figures["rounds"], figures["notion"])
        yield _parties(figures)
        yield Text(f"Every epsilon here is worst-case, for all rounds together, {_means_what(figures)}.")
    yield from _latecomers(figures)
    if figures["unguaranteed"]:
        yield Text(no_guarantee_text(figures["unguaranteed"]))
    if figures["student"]:
        yield student(figures["student"])


def _latecomers(figures: Mapping[str, Any]) -> Iterable[RenderableType]:
    """Yield a line on the slowest parties."""
    told = str(Latecomers(**figures["latecomers"]))
    if told:
        yield Text(told)


def rounds_table(rounds: Iterable[Mapping[str, Any]], notion: str) -> Table:
    """Return a table of each round's questions, the cost of all rounds up to it, and its student's
    accuracy."""
    cost = f"worst-case epsilon so far ({notion})"
    metrics = tuple(METRICS)[:2]
    heads = ("round", "mechanism", "answered", "by student", cost, *(METRICS[metric] for metric in metrics))
    rows = (
        (
            str(one["round"]),
            one["mechanism"],
            f"{one['answered']} of {one['queries']}",
            str(one["by_student"]),
            epsilon_text(one["epsilon_worst_case"]),
            *(share(one[metric]) for metric in metrics),
        )
        for one in rounds
    )
    return table_of(heads, rows, "In rounds")


def _parts(figures: Mapping[str, Any]) -> Iterable[RenderableType]:
    queries = count_text(figures["queries"], "query", "queries")
    yield Text(
        f"Run {figures['run']} of task {figures['task']}: {figures['asked']} of {queries} "
        f"asked, {figures['answered']} answered, {figures['abstained']} abstained."
        + (f" The student labelled {figures['by_student']} of these." if figures["by_student"] else "")
    )
    if figures["stopped"]:
        yield Text(f"Stopped [{figures['stopped']['code']}]: {figures['stopped']['message']}")
    if figures["unsettled_batches"]:
        yield Text("A batch is not settled and is counted at its largest cost; label again to settle it.")
    yield from _latecomers(figures)
    if figures["lost"]:
        yield Text(describe_lost(figures["lost"]))
    if figures.get("implied") or figures.get("partly"):
        yield Text(
            f"{figures['implied']} labels were implied by an absent parent, at no cost; "
            f"{figures['partly']} queries still wait for some labels."
        )
    for part in figures.get("parts", ()):
        values = (f"{name} {value}" for name, value in part["mechanism"].items() if value is not None)
        yield Text(f"Run {part['folder']} asked about {', '.join(part['labels'])}: {', '.join(values)}.")
    if figures.get("asked_labels"):
        yield Text(f"Asked about {', '.join(figures['asked_labels'])} alone.")
    if figures["labels"]:
        yield _labels(figures)
    yield _parties(figures)
    for party in figures["parties"]:
        if party["abstains"]:
            yield Text(f"Party {party['site']} does not vote on {', '.join(party['abstains'])}.")
    yield Text(
        f"Queries were sent {_ENCODINGS[figures['encoding']]}; ballots were {figures['ballots']}; "
        f"{_TALLIES[figures['tally']]}; noise came from the {figures['noise']}."
    )
    which = "all runs in this folder together" if "parts" in figures else "this run alone"
    yield Text(
        f"The guardian enforces {figures['enforce'] or 'nothing yet'} (bound {figures['bound'] or 'none'}); "
        f"every epsilon here is worst-case, for {which}, {_means_what(figures)}."
    )
    if figures["unguaranteed"]:
        yield Text(no_guarantee_text(figures["unguaranteed"]))
    if figures["student"]:
        yield student(figures["student"])


def _means_what(figures: Mapping[str, Any]) -> str:
    return "and protects no record" if figures["unguaranteed"] else f"and means {figures['notion']}"


def describe_lost(queries: int) -> str:
    """Return the sentence about queries that were charged without an answer."""
    if queries == 1:
        return "1 query was charged, but its answer was lost, and it was asked again."
    return f"{queries} queries were charged, but their answers were lost, and they were asked again."


def repeats(records: int) -> str:
    """Return the sentence about repeated records of a pool, which are not asked separately."""
    repeat = "record repeats" if records == 1 else "records repeat"
    return (
        f"{records} {repeat} another record: equal records are asked about once, and all get the same label."
    )


def no_guarantee_text(sites: Iterable[str]) -> str:
    """Return the sentence about votes that depend on updates without noise."""
    return (
        f"No formal guarantee: teachers of {', '.join(sites)} were trained by ttac, and "
        "no epsilon covers what that revealed about records; the epsilons shown count "
        "labels as if one record changed one vote."
    )


def _labels(figures: Mapping[str, Any]) -> Table:
    rows = ((label["name"], str(label["answered"]), str(label["positive"])) for label in figures["labels"])
    return table_of(("label", "answered", "positive"), rows, "Answers by label")


def _parties(figures: Mapping[str, Any]) -> Table:
    cost = f"worst-case epsilon ({figures['notion']})"
    variant = f", variant {figures['variant']}" if "variant" in figures else ""
    title = f"Cost per {figures['adjacency']}{variant}: of each party the costliest group"
    rows = (
        (
            *(str(party[name]) for name in ("site", "group", "teachers", "asked", "answered")),
            *cost_cells(party),
        )
        for party in figures["parties"]
    )
    return table_of(("party", "group", "teachers", "queries", "answers", *COST_HEAD, cost), rows, title)


COST_HEAD = ("filter", "delta")


def cost_cells(cost: Mapping[str, Any]) -> tuple[str, str, str]:
    """Return the filter, delta and epsilon of a group's cost, as a plan and the guardian show them."""
    known = cost["order"]
    kept = "-" if known is None else filter_text(known)
    return kept, number_text(cost["delta"]), epsilon_text(cost["epsilon_worst_case"])


def student(figures: Mapping[str, Any]) -> RenderableType:
    """Return a student's metrics before and after, as `retrain` wrote them, in total and by label.

    Above is what was guessed or left out while labelled records were read. Below is a comparison with own
    data alone and the most frequent class, and the guarantee of a student by DP-SGD.
    """
    labels = [_by_label(figures)] if _labels_of(figures) else []
    guarantee = figures.get("guarantee")
    promised = [Text(dp_sgd_words(guarantee))] if guarantee else []
    read_as = map(Text, figures.get("reading", ()))
    return Group(*read_as, _means(figures), *labels, *map(Text, verdict(figures)), *promised)


def verdict(figures: Mapping[str, Any]) -> tuple[str, ...]:
    """Return a student's results as sentences; empty if nothing was measured."""
    gain = read_gain(figures)
    if gain is None:
        return ()
    warned = (f"Warning: {doubt}" for doubt in doubts(gain, figures["measured_on"]))
    return (tell_gain(gain, figures["measured_on"]), *warned)


def _means(figures: Mapping[str, Any]) -> Table:
    kind = f"{figures['student']}, {figures['model']}"
    title = f"{kind}, measured on {figures['measured']} {figures['measured_on']}"
    return table_of(("student", "records", *METRICS.values()), student_rows(figures), title)


def student_rows(figures: Mapping[str, Any]) -> Iterable[Sequence[str]]:
    """Yield a row for a student before and after: its number of records, and its overall metrics."""
    records = {"before": figures["labelled"], "after": figures["labelled"] + figures["released"]}
    for when, count in records.items():
        metrics = figures[when] or {}
        yield when, str(count), *(share(metrics.get(metric)) for metric in METRICS)


def _by_label(figures: Mapping[str, Any]) -> Table:
    names = ("accuracy", "balanced_accuracy", "auc", "average_precision")
    before = _labels_of(figures, "before") or [{}] * len(_labels_of(figures))
    rows = (
        (new["name"], str(new["support"]), *(f"{share(old.get(name))} {share(new[name])}" for name in names))
        for old, new in zip(before, _labels_of(figures), strict=True)
    )
    return table_of(("label", "support", *map(_words, names)), rows, "Each label, before and after")


def _labels_of(figures: Mapping[str, Any], when: str = "after") -> Sequence[Mapping[str, Any]]:
    labels: Sequence[Mapping[str, Any]] = (figures[when] or {}).get("labels", ())
    return labels


def _words(name: str) -> str:
    return name.replace("_", " ")
