import base64
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from ostraka.client.run.asking_options import Adjacency
from ostraka.client.training.leading import TrainingCost, TrainingReport
from ostraka.common.learning.accuracy import LabelFigures, Metrics
from ostraka.common.learning.gain import Gain, Interval
from ostraka.common.mechanism import BOUND, Moments
from ostraka.common.page.drawing import draw
from ostraka.deploy.simulation import plots
from ostraka.deploy.simulation.display import show
from ostraka.deploy.simulation.html import PLOTS, Plot, render
from ostraka.deploy.simulation.quality import (
    Holding,
    Quality,
    QuerierQuality,
    RoundQuality,
    SumModel,
    balanced_accuracy,
    count_classes,
    count_labels,
    label_accuracy,
    mean_metrics,
)
from ostraka.deploy.simulation.report import (
    RecordSplit,
    SimulationReport,
    SpendingPoint,
    Throughput,
    UnitSpending,
    advise,
    notions,
    warnings,
)
from ostraka.deploy.simulation.settings import Settings

TRUTH = np.array([0, 0, 1, 1, 2, 2])
LABELS = np.array([0, -1, 1, 2, -1, -1])


def unit(party: str) -> UnitSpending:
    history = tuple(
        SpendingPoint(batch=n, seconds=0.5 * n, epsilon_worst_case=6.0 * n, epsilon_data_dependent=1.5 * n)
        for n in (1, 2, 3)
    )
    return UnitSpending(
        party=party,
        group="all",
        adjacency="record",
        notion="DP for records",
        epsilon_worst_case=18.0,
        epsilon_data_dependent=4.5,
        bound="theorem6",
        order=9.5,
        filter="renyi",
        enforce="data_dependent",
        epsilon_budget=10.0,
        delta=1e-5,
        history=history,
    )


def metrics(value: float, names: tuple[str, ...] = ("a", "b", "c")) -> Metrics:
    labels = tuple(LabelFigures(name, 2, value, value - 0.1, value, None) for name in names)
    return Metrics(value, value - 0.1, value, None, labels)


GAIN = Gain(
    records=80,
    majority=0.5,
    accuracy=Interval(0.9, 0.83, 0.96),
    balanced_accuracy=Interval(0.85, 0.8, 0.9),
    over_majority=Interval(0.4, 0.33, 0.46),
    over_own=Interval(0.1, 0.03, 0.17),
    balanced_over_own=Interval(0.15, 0.05, 0.25),
)


def report(**changes: object) -> SimulationReport:
    settings = Settings(parties=7, enforce="data_dependent", label="<b>kind</b>")
    counts = count_classes(("a", "b", "c"), TRUTH, LABELS)
    made = SimulationReport(
        id="test",
        version="0",
        settings=settings,
        task="single",
        mechanism=settings.plan_mechanism,
        enforce="data_dependent",
        bound="theorem6",
        guarantee="record",
        notions=notions("theorem6", "record"),
        encoding="plain",
        tally="aggregate",
        ballots="verified",
        head=None,
        teachers=70,
        queries=6,
        asked=6,
        answered=3,
        by_student=0,
        implied=0,
        ended_early=False,
        label_accuracy=label_accuracy(counts),
        label_balanced_accuracy=balanced_accuracy(counts, ()),
        student="supervised",
        student_accuracy_before=0.8,
        student_accuracy_after=0.9,
        student_balanced_accuracy_before=0.7,
        student_balanced_accuracy_after=0.85,
        notes=("Column 'age' has one value only.",),
        records=RecordSplit(labelled=2, pool=6, test=80, parties=63),
        gain=GAIN,
        student_guarantee=None,
        quality=Quality(
            own=metrics(0.8),
            after=metrics(0.9),
            ensemble=metrics(0.95),
            ensemble_records=80,
            constant=metrics(0.5),
        ),
        turns=(),
        rounds=(),
        training=None,
        holdings=tuple(Holding(party=site, records=9, counts=(4, 0, 5)) for site in settings.sites),
        classes=counts,
        labels=(),
        units=tuple(unit(site) for site in settings.sites),
        seconds={"train": 1.0, "label": 2.0},
        throughput=Throughput(queries_per_second=3.0, answers_per_second=1.5, votes_per_second=210.0),
    )
    return made.model_copy(update=changes)


def worded(report: SimulationReport) -> str:
    """Return the page with the names of plots in place of the plots."""

    def name(plot: Plot, _: SimulationReport) -> str:
        return plot.__name__

    return render(report, name)


@pytest.fixture(scope="module")
def drawn() -> str:
    """Return the page as users see it, its plots drawn."""
    return render(report())


def test_answers_are_counted_by_true_class() -> None:
    counts = count_classes(("a", "b", "c"), TRUTH, LABELS)
    assert [(c.right, c.wrong, c.unanswered) for c in counts] == [(1, 0, 1), (1, 1, 0), (0, 0, 2)]
    assert label_accuracy(counts) == pytest.approx(2 / 3)


def test_balanced_accuracy_weighs_classes_alike() -> None:
    counts = count_classes(("a", "b"), np.array([0, 0, 0, 1]), np.array([0, 0, 1, 1]))
    assert balanced_accuracy(counts, ()) == pytest.approx((2 / 3 + 1) / 2)


def test_no_answers_have_no_accuracy() -> None:
    assert label_accuracy(count_classes(("a", "b", "c"), TRUTH, np.full(6, -1))) is None


def test_the_page_needs_no_network(drawn: str) -> None:
    fetched: list[str] = []

    class Page(HTMLParser):
        def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
            fetched.extend(value or "" for name, value in attrs if name in ("src", "href"))

    Page().feed(drawn)
    assert len(fetched) == 10
    assert all(address.startswith("data:image/svg+xml;base64,") for address in fetched)


def test_every_plot_is_an_svg_document(drawn: str) -> None:
    for image in re.findall(r'base64,([^"]+)"', drawn):
        assert ElementTree.fromstring(base64.b64decode(image)).tag.endswith("svg")  # noqa: S314


def test_epsilons_say_their_notion() -> None:
    shown = worded(report())
    assert "data-dependent epsilon (theorem6, one direction)" in shown
    assert "worst-case epsilon" in shown
    assert shown.count("epsilon</b>") == 0


def test_values_are_escaped() -> None:
    shown = worded(report())
    assert "<b>kind</b>" not in shown
    assert "&lt;b&gt;kind&lt;/b&gt;" in shown


def test_a_session_cut_short_says_so() -> None:
    assert "ended after 4 queries" in worded(report(asked=4, ended_early=True))


@pytest.mark.heavy
def test_a_poor_run_still_has_a_page() -> None:
    assert "Ostraka simulation test" in render(report(units=(), answered=0, label_accuracy=None))


@pytest.mark.parametrize(
    ("bound", "words"),
    [
        ("exact", "the largest divergence between the votes that were cast and any neighbour"),
        ("theorem6", "one direction"),
        ("worst_case", "holds whatever the votes were"),
    ],
)
def test_every_bound_says_what_it_covers(bound: BOUND, words: str) -> None:
    assert words in notions(bound, "record")["epsilon_data_dependent"]
    shown = worded(report(bound=bound, notions=notions(bound, "record")))
    assert ("both directions" in shown) is (bound == "exact")
    assert ("one direction" in shown) is (bound == "theorem6")


def together(kind: str, guarantee: str, costs: tuple[TrainingCost, ...]) -> TrainingReport:
    return TrainingReport.model_validate(
        {
            "kind": kind,
            "guarantee": guarantee,
            "notion": None if guarantee == "none" else "DP for records",
            "rounds": 20,
            "taking_part": (7,) * 19,
            "costs": costs,
            "left_out": {},
            "stopped": None,
        }
    )


def test_a_page_says_what_training_together_cost() -> None:
    costs = tuple(
        TrainingCost(
            site=site,
            group="all",
            teachers=10,
            epsilon=epsilon,
            delta=1e-5,
            budget_epsilon=10.0,
            share=epsilon / 25,
        )
        for site, epsilon in (("a", 4.1), ("b", 5.25))
    )
    shown = worded(report(training=together("dp_ttac", "record", costs)))
    assert "cost epsilon 5.25 at most, 21% of a budget" in shown
    assert "<b>5.25</b>epsilon of training alone" in shown
    assert "formal guarantee" not in shown


@pytest.mark.parametrize("bound", ["worst_case", "exact"])
def test_where_ttac_trained_nothing_says_that_an_epsilon_protects_anybody(
    bound: BOUND, capsys: pytest.CaptureFixture[str]
) -> None:
    units = tuple(one.model_copy(update={"notion": "no formal guarantee"}) for one in report().units[:1])
    made = report(
        training=together("ttac", "none", ()),
        guarantee="none",
        bound=bound,
        notions=notions(bound, "none"),
        units=units,
    )
    shown, drawn = worded(made), draw(plots.epsilons, made)
    show(made, Path("report.html"))
    printed = " ".join(capsys.readouterr().out.split())
    assert "No formal guarantee: teachers of all parties learned together by ttac" in shown
    assert "<b>no formal guarantee</b>training by ttac" in shown
    assert "epsilon (no formal guarantee)" in drawn
    assert "Epsilon (no formal guarantee)" in printed
    assert "No epsilon here protects a record" in printed
    for said in (shown, drawn, printed, made.model_dump_json()):
        assert "DP for records" not in said
        assert "it protects" not in said


def test_a_page_says_who_saw_queries_and_histograms() -> None:
    shown = worded(report())
    assert (
        "queries seen by the parties (plain), ballots verified, histograms seen by the guardian (aggregate)"
        in shown
    )
    hidden = {"encoding": "ckks", "tally": "blind", "ballots": "unverified", "head": "square-mlp"}
    shown = worded(report(**hidden, bound="worst_case", notions=notions("worst_case", "record")))
    assert "queries encrypted (ckks, head square-mlp), ballots unverified, histograms seen by nobody" in shown
    assert "Every epsilon on this page is worst-case" in shown
    assert "data-dependent" not in shown.replace("data_dependent", "")


def test_a_page_shows_who_holds_what() -> None:
    settings = Settings(parties=7, split="label-sorted", similarity=1.5)
    shown = worded(report(settings=settings))
    assert "records by class; split: label-sorted, 1.5% of the records at random" in shown
    drawn = draw(plots.holdings, report())
    assert all(f">{name}<" in drawn for name in ("a", "b", "c", *settings.sites))


SEVERAL = np.array([[0, 1, 1], [0, 1, 0], [1, 1, 0]])
BITS = np.array([[0, 1, -1], [1, 1, -1], [1, -1, -1]])


def test_answers_are_counted_label_by_label() -> None:
    first, second, third = count_labels(("a", "b", "c"), SEVERAL, BITS)
    assert (first.right, first.wrong, first.unanswered) == (2, 1, 0)
    assert first.accuracy == pytest.approx(2 / 3)
    assert first.balanced_accuracy == 0.75
    assert (second.right, second.wrong, second.unanswered, second.balanced_accuracy) == (2, 0, 1, 1.0)
    assert (third.accuracy, third.balanced_accuracy) == (None, None)
    assert label_accuracy((first, second, third)) == pytest.approx(4 / 5)
    assert balanced_accuracy((), (first, second, third)) == pytest.approx(0.875)


def test_a_page_of_several_labels_shows_each() -> None:
    labels = count_labels(("a", "<b>", "a long name of a label that needs room"), SEVERAL, BITS)
    made = report(task="multilabel", classes=(), labels=labels)
    shown = worded(made)
    assert shown.count("data:image/svg+xml") == 11
    for plot in (plots.holdings, plots.labels, plots.label_shares):
        assert ElementTree.fromstring(draw(plot, made)).tag.endswith("svg")  # noqa: S314
    assert "Every party&#39;s labels by label" in shown
    assert "label by label" in shown


def test_a_page_compares_the_student_with_own_data_and_all_teachers() -> None:
    shown = worded(report())
    for name, accuracy in (
        ("own data alone", 0.8),
        ("with released labels", 0.9),
        ("all teachers, not private", 0.95),
    ):
        assert f"<td>{name}</td><td>{accuracy:.3f}</td><td>{accuracy - 0.1:.3f}</td>" in shown
    assert shown.count("<td>2</td><td>0.700</td>") == 3


@pytest.mark.parametrize(("guarantee", "words"), [("record", "DP for records"), ("label", "label-DP")])
def test_every_epsilon_says_what_it_protects(guarantee: Adjacency, words: str) -> None:
    charged = {"adjacency": guarantee, "notion": words}
    units = tuple(one.model_copy(update=charged) for one in report().units[:1])
    made = report(guarantee=guarantee, notions=notions("exact", guarantee), units=units)
    shown = worded(made)
    other = {"record": "label-DP", "label": "DP for records"}[guarantee]
    assert f"worst-case epsilon, {words}" in shown
    assert f"data-dependent epsilon (theorem6, one direction), {words}" in shown
    assert f"under budgets of epsilon ({words}) 10" in shown
    assert f"epsilon ({words})" in draw(plots.epsilons, made)
    assert all(text.endswith(words) for text in made.notions.values())
    assert shown.replace("no guarantee of DP for records", "").count(other) == 0


def turn(party: str, before: float, after: float) -> QuerierQuality:
    return QuerierQuality(
        party=party,
        labelled=30,
        queries=20,
        asked=20,
        answered=18,
        before=metrics(before),
        after=metrics(after),
    )


def test_a_page_shows_every_turn() -> None:
    made = report(turns=(turn("party-2", 0.6, 0.8), turn("party-1", 0.7, 0.75)))
    assert "before and after its turn" in worded(made)
    drawn = draw(plots.turns, made)
    assert all(f">{text}<" in drawn for text in ("party-2", "party-1", "0.50", "0.70", "0.60", "0.65"))


def test_a_page_shows_every_round() -> None:
    figures_of_a_round = {
        "mechanism": "interactive",
        "queries": 20,
        "asked": 20,
        "answered": 9,
        "by_student": 8,
        "epsilon_worst_case": 3.0,
        "accuracy": 0.85,
        "balanced_accuracy": 0.8,
    }
    made = report(rounds=tuple(RoundQuality(round=number, **figures_of_a_round) for number in (1, 2)))
    assert "after each round of labels" in worded(made)
    assert "rounds of labels" in draw(plots.rounds, made)


def test_the_mean_of_students_is_by_label() -> None:
    mean = mean_metrics([metrics(0.6), metrics(0.8)])
    assert (mean.accuracy, mean.balanced_accuracy, mean.auc, mean.map) == pytest.approx((0.7, 0.6, 0.7, None))
    assert [label.name for label in mean.labels] == ["a", "b", "c"]
    assert [label.accuracy for label in mean.labels] == pytest.approx([0.7] * 3)


def test_json_is_read_back_the_same() -> None:
    assert SimulationReport.model_validate_json(report().model_dump_json()) == report()


DRAWN = SumModel(
    asked=False,
    learner="moments",
    reason="It is public.",
    epsilon=10.0,
    rounds=1,
    rounds_planned=1,
    records=63.0,
    tells=("the mean of your pool",),
    notes=("Mind this.",),
    metrics=metrics(0.92),
    gain=GAIN,
)


def of_sums(**changes: object) -> SimulationReport:
    """Return the report of a simulation that asked for sums instead of labels."""
    made = report()
    model = DRAWN.model_copy(update={"asked": True, "rounds": 12, "rounds_planned": 20})
    found = {"pooled": metrics(0.96), "model": model}
    return report(
        settings=Settings(parties=7, learn="moments"),
        mechanism=Moments(columns=5, codes=3, sigma=2.0),
        quality=made.quality.model_copy(update=found),
        **{"queries": 0, "asked": 0, "answered": 0, "label_accuracy": None, "classes": (), **changes},
    )


def test_a_drawn_model_stands_beside_votes() -> None:
    made = report()
    quality = made.quality.model_copy(update={"model": DRAWN})
    page = worded(made.model_copy(update={"quality": quality}))
    assert "a model of sums, same budget" in page
    assert "no party was asked for it: Learner moments, of one sum over 63 records" in page
    assert "drawn in this process and not over the services, is right on 90.0% (83.0% to 96.0%)" in page
    assert "with released labels" in page
    assert "a model of sums" not in worded(made)


def test_a_page_of_sums_tells_no_labels() -> None:
    page = worded(of_sums())
    for word in (
        "The model is right on 90.0% (95% interval 83.0% to 96.0%) of 80 test records",
        "of 12 sums, of 20 planned over 63 records",
        "Parties are told the mean of your pool.",
        "it answers any question, for ever, to whoever holds it",
        "all records, not private",
        "the most frequent class",
        "moments: columns 5, codes 3, sigma 2.",
    ):
        assert word in page
    for word in ("queries answered", "released labels", "throughput"):
        assert word not in page


def test_plots_of_sums_compare_everybody() -> None:
    made = of_sums()
    shown = {text.get_text() for text in PLOTS["comparison"](made).legends[0].get_texts()}
    assert {"a model of sums", "all records, not private", "the most frequent class"} <= shown
    (axes,) = PLOTS["accuracy"](made).axes
    assert [label.get_text() for label in axes.get_xticklabels()] == ["own data alone", "model of sums"]


def test_a_model_that_is_no_better_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    worse = replace(GAIN, over_own=Interval(-0.1, -0.2, -0.05))
    assert warnings(of_sums(gain=worse)) == ("The sums made a worse model than own data alone.",)
    show(of_sums(), Path("page"))
    shown = capsys.readouterr().out
    assert "Learner moments, of 12 sums" in " ".join(shown.split())
    assert "queries" not in shown


def test_it_ends_with_one_line_of_advice(capsys: pytest.CaptureFixture[str]) -> None:
    won = of_sums(gain=replace(GAIN, over_own=Interval(0.1, 0.05, 0.15)))
    show(won, Path("page"))
    last = " ".join(capsys.readouterr().out.split("Report: ")[-1].split())
    assert "Advice: take the model of sums; it gained most over own data alone, 10.0 points. This" in last
    perhaps = advise(of_sums(gain=replace(GAIN, over_own=Interval(0.1, -0.05, 0.15))))
    assert "10.0 points, which may be chance" in perhaps
    assert "do nothing" in advise(of_sums(gain=replace(GAIN, over_own=Interval(0.005, -0.1, 0.1))))
    rare = replace(
        GAIN,
        majority=0.95,
        over_own=Interval(0.1, 0.05, 0.15),
        balanced_over_own=Interval(0.0, -0.1, 0.1),
    )
    assert "do nothing" in advise(of_sums(gain=rare)), "of a rare class accuracy tells nothing"


def test_a_drawn_model_that_beats_votes_is_advised() -> None:
    votes = report()
    better = replace(GAIN, over_own=Interval(0.2, 0.1, 0.3))
    quality = votes.quality.model_copy(update={"model": DRAWN.model_copy(update={"gain": better})})
    losing = replace(GAIN, over_own=Interval(-0.02, -0.1, 0.1))
    made = votes.model_copy(update={"quality": quality, "gain": losing})
    assert "take a model of sums (moments); it gained most" in advise(made)
