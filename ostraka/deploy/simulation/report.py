"""Report of a simulation: the contents of report.json, its guarantees, and its results in sentences."""

from collections.abc import Iterator
from typing import Literal, TypeAlias

from ostraka.client.run.asking_options import Adjacency
from ostraka.client.students.dp_sgd.guarantee import DpSgdGuarantee
from ostraka.client.training.leading import TrainingReport
from ostraka.common.console.texts import list_words
from ostraka.common.crypto.logits import Head
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.learning.gain import Gain, Interval
from ostraka.common.learning.verdict import STUDENT, doubts, tell_gain
from ostraka.common.mechanism import BOUND, Mechanism
from ostraka.common.plan.choices import BALLOTS, ENCODING, ENFORCE, TALLY
from ostraka.common.planning.search.floor import POINT
from ostraka.common.planning.search.vote_sample import RARE_REST
from ostraka.common.privacy.guarantees import NO_GUARANTEE, NOTIONS
from ostraka.common.sharing.ballots import BallotFormat, RandomizedLabels, RandomizedLabelSets
from ostraka.common.validation import FrozenModel
from ostraka.deploy.simulation.defaults import TaskKind
from ostraka.deploy.simulation.number_quality import NumberQuality, doubt_numbers, tell_numbers
from ostraka.deploy.simulation.quality import (
    ClassCount,
    Holding,
    LabelCount,
    Quality,
    QuerierQuality,
    RoundQuality,
    SumModel,
)
from ostraka.deploy.simulation.settings import Settings

Guarantee: TypeAlias = Adjacency | Literal["none"]
"""What an epsilon protects: a record, its label alone, or nothing if teachers learned by ttac."""
WORST_CASE = "worst-case (holds whatever the votes were)"
DATA_DEPENDENT: dict[BOUND, str] = {
    "worst_case": WORST_CASE,
    "theorem6": "data-dependent (theorem6, one direction: it bounds D(M(D)||M(D')) for the votes that were "
    "cast, not D(M(D')||M(D)), and is itself private)",
    "exact": "data-dependent (exact, both directions: the largest divergence between the votes that were "
    "cast and any neighbour of them, and is itself private)",
}


def notions(
    bound: BOUND, guarantee: Guarantee
) -> dict[Literal["epsilon_worst_case", "epsilon_data_dependent"], str]:
    """Return what each epsilon of the report means, in words."""
    promise = promise_words(guarantee)
    if guarantee == "none":
        promise = f"if one record changed one vote: {promise}"
    return {
        "epsilon_worst_case": f"{WORST_CASE}, {promise}",
        "epsilon_data_dependent": f"{DATA_DEPENDENT[bound]}, {promise}",
    }


def promise_words(guarantee: Guarantee) -> str:
    """Return the text next to every epsilon."""
    return NO_GUARANTEE if guarantee == "none" else NOTIONS[guarantee]


def notion(bound: BOUND) -> str:
    """Return the name of epsilons under a bound; under worst_case they equal the worst case of every page."""
    return "charged" if bound == "worst_case" else "data-dependent"


def bound_words(bound: BOUND) -> str:
    """Return a bound's name with the directions that it covers."""
    directions = {"exact": "both directions", "theorem6": "one direction", "worst_case": "any votes"}
    return f"{bound}, {directions[bound]}"


def guarantee_words(guarantee: Guarantee, mechanism: Mechanism) -> str:
    """Return what the guarantee covers and what it does not, in sentences."""
    if guarantee == "none":
        return "No epsilon here protects a record: one can change every vote, and an epsilon counts one."
    if guarantee == "label":
        return (
            "Every epsilon is of label-DP: it protects the labels of records alone, and their features count "
            f"as known to all sites. It is no guarantee of DP for records.{_pure(mechanism.ballot)}"
        )
    return "Every epsilon is of DP for records: it protects a record's features and labels together."


def _pure(ballot: BallotFormat) -> str:
    """Return the guarantee of a record's randomised answer by itself; empty for other ballots."""
    match ballot:
        case RandomizedLabels(epsilon=epsilon):
            return f" A randomised label is by itself label-DP of epsilon {epsilon:g} with delta 0."
        case RandomizedLabelSets(epsilon=epsilon):
            return (
                f" All randomised labels of a record together are label-DP of epsilon {epsilon:g}, delta 0."
            )
    return ""


def training_words(training: TrainingReport) -> str:
    """Return how teachers learned together, and the guarantee."""
    if training.guarantee == "none":
        return (
            f"No formal guarantee: teachers of all parties learned together by ttac in {training.rounds} "
            "rounds, and one record can change every vote. Every epsilon counts labels as if it changed one, "
            "and protects no record."
        )
    most = max(training.costs, key=lambda cost: cost.share)
    return (
        f"Teachers of all parties learned together by dp-ttac in {training.rounds} rounds, which by "
        f"themselves cost epsilon {most.epsilon:.2f} at most, {most.share:.0%} of a budget."
    )


WHOLE = "all"
"""The group of a party whose records share one budget."""


class SpendingPoint(FrozenModel):
    """A unit's totals after one released batch, ``seconds`` after labelling began."""

    batch: int
    seconds: float
    epsilon_worst_case: float
    epsilon_data_dependent: float


class UnitSpending(FrozenModel):
    """The charges to one party's records, in both notions, against their budget.

    `order` is 0 under a Gaussian `filter`.
    """

    party: str
    group: str
    adjacency: str
    notion: str
    epsilon_worst_case: float
    epsilon_data_dependent: float
    bound: BOUND
    order: float
    filter: str
    enforce: ENFORCE
    epsilon_budget: float
    delta: float
    history: tuple[SpendingPoint, ...]

    @property
    def name(self) -> str:
        """The party, with its group of records if it has several."""
        return self.party if self.group == WHOLE else f"{self.party}/{self.group}"


class Throughput(FrozenModel):
    """Speed of labelling, from opening the session to its last answer; rounds include their trainings."""

    queries_per_second: float
    answers_per_second: float
    votes_per_second: float


class RecordSplit(FrozenModel):
    """The split of the data: every record is in exactly one part."""

    labelled: int
    pool: int
    test: int
    parties: int


class SimulationReport(FrozenModel):
    """All measurements of a simulation; ``seconds`` maps steps to wall time.

    ``guarantee`` is what every epsilon protects, a "record" (DP) or a "label" alone (label-DP); "none" if
    teachers learned together by ttac. ``implied`` labels were neither asked for nor charged, because others
    imply that they are absent. ``classes`` counts queries by true class, ``labels`` answers by label; one of
    them is empty. For numbers ``classes`` are ranges, and the only student metrics are in ``quality``.
    Student and label metrics of a multi-label task are means over labels. ``turns`` belong to several
    querying parties, in the order in which they asked; student metrics are then means over them. ``rounds``
    belong to labels that were requested in several rounds. ``gain`` belongs to a single querying party that
    asked once, and ``student_guarantee`` to a student by DP-SGD, the one with the largest epsilon if there
    are several.
    """

    id: str
    version: str
    settings: Settings
    task: TaskKind
    mechanism: Mechanism
    guarantee: Guarantee
    enforce: ENFORCE
    bound: BOUND
    notions: dict[Literal["epsilon_worst_case", "epsilon_data_dependent"], str]
    encoding: ENCODING
    tally: TALLY
    ballots: BALLOTS
    head: Head | None
    teachers: int
    queries: int
    asked: int
    answered: int
    by_student: int
    implied: int
    ended_early: bool
    label_accuracy: float | None
    label_balanced_accuracy: float | None
    student: str
    student_accuracy_before: float | None
    student_accuracy_after: float | None
    student_balanced_accuracy_before: float | None
    student_balanced_accuracy_after: float | None
    records: RecordSplit
    notes: tuple[str, ...]
    gain: Gain | None
    student_guarantee: DpSgdGuarantee | None
    quality: Quality | NumberQuality
    turns: tuple[QuerierQuality, ...]
    rounds: tuple[RoundQuality, ...]
    training: TrainingReport | None
    holdings: tuple[Holding, ...]
    classes: tuple[ClassCount, ...]
    labels: tuple[LabelCount, ...]
    units: tuple[UnitSpending, ...]
    seconds: dict[str, float]
    throughput: Throughput

    @property
    def class_quality(self) -> Quality:
        """Figures of classes or labels; raises `data.missing` for a report of numbers, which has none."""
        if isinstance(self.quality, Quality):
            return self.quality
        raise OstrakaError(
            ErrorCode.DATA_MISSING, "The report is of numbers and has no figures of classes: plot `numbers`."
        )


def switch_words(report: SimulationReport) -> str:
    """Return who saw queries and histograms, in the switches' names, and whether ballots were verified."""
    ckks = report.encoding == "ckks"
    blind = report.tally == "blind"
    queries = f"encrypted (ckks, head {report.head})" if ckks else "seen by the parties (plain)"
    noised = "" if report.mechanism.relied_on is None else " with the noise of the parties"
    histograms = "seen by nobody (blind)" if blind else f"seen by the guardian{noised} (aggregate)"
    return f"queries {queries}, ballots {report.ballots}, histograms {histograms}"


def headline(report: SimulationReport) -> str:
    """Return the accuracy of the student or model, compared with not asking, and the cost of asking."""
    return " ".join([*_student(report), *_spending(report), *_tell_drawn(report.quality.model)])


def model_words(model: SumModel) -> str:
    """Return the learner and sums of a model, the reason, and what parties learn for it."""
    told = f" Parties are told {list_words(model.tells)}." if model.tells else ""
    rounds = "one sum" if model.rounds == 1 else f"{model.rounds} sums"
    early = "" if model.rounds == model.rounds_planned else f", of {model.rounds_planned} planned"
    notes = "".join(f" {note}" for note in model.notes)
    return (
        f"Learner {model.learner}, of {rounds}{early} over {model.records:g} records, for epsilon"
        f" {model.epsilon:.2f}. {model.reason}{told}{notes}"
    )


def _tell_drawn(model: SumModel | None) -> Iterator[str]:
    if model is None or model.asked or model.gain is None:
        return
    gain = model.gain
    yield (
        f"A model of sums ({model.learner}) of the whole budget, drawn in this process and not over the"
        f" services, is right on {gain.accuracy.estimate:.1%} ({gain.accuracy.low:.1%} to"
        f" {gain.accuracy.high:.1%})."
    )


def split_sentence(report: SimulationReport) -> str:
    """Return how the records were divided, and which test records all teachers were asked about."""
    found = report.records
    total = found.labelled + found.pool + found.test + found.parties
    told = (
        f"{total} records: {found.labelled} the querying party's own, {found.pool} its pool, {found.test} to"
        f" test on, {found.parties} with {len(report.holdings)} parties."
    )
    quality = report.quality
    if isinstance(quality, NumberQuality) or quality.ensemble_records == found.test:
        return told
    asked = quality.ensemble_records
    return f"{told} The teachers without privacy are tested on {asked} of the {found.test}, drawn at random."


def warnings(report: SimulationReport) -> tuple[str, ...]:
    """Return reasons why the figures may not mean what they seem to mean; usually none."""
    found = report.gain
    if isinstance(report.quality, NumberQuality):
        return tuple(doubt_numbers(report.quality, report.records.test))
    told = () if found is None else doubts(found, "test records", *_who(report))
    return (*_one_class(report), *told)


def advise(report: SimulationReport) -> str:
    """Return one line on which way gained most over own data alone, or that none did; empty if unmeasured."""
    found = report.gain
    if found is None or not isinstance(report.quality, Quality):
        return ""
    model = report.quality.model
    asked = "the model of sums" if model is not None and model.asked else "the student of released labels"
    ways = {asked: _over_own(found)}
    if model is not None and model.gain is not None and not model.asked:
        ways[f"a model of sums ({model.learner})"] = _over_own(model.gain)
    name = max(ways, key=lambda way: ways[way].estimate)
    gained = ways[name]
    if gained.estimate < POINT:
        told = "do nothing; no way gained a point over own data alone."
    else:
        sure = "" if gained.low > 0 else ", which may be chance"
        told = f"take {name}; it gained most over own data alone, {100 * gained.estimate:.1f} points{sure}."
    return f"Advice: {told} This is one split: `ostraka advise` tries every way on several."


def _over_own(gain: Gain) -> Interval:
    """Return the gain over own data, else over the most frequent class; balanced for rare classes."""
    balanced = gain.majority > 1 - RARE_REST
    over = gain.balanced_over_own if balanced else gain.over_own
    return gain.over_majority if over is None else over


def _student(report: SimulationReport) -> Iterator[str]:
    found = report.gain
    if isinstance(report.quality, NumberQuality):
        yield from tell_numbers(report.quality, report.records.test)
        return
    before = report.quality.own.accuracy
    after = report.quality.after.accuracy
    what = "labels of test records" if report.labels else "test records"
    who = "student" if report.queries else "model"
    if found is None:
        yield f"The {who} is right on {after:.1%} of the {what}, by own data alone on {before:.1%}."
        return
    yield tell_gain(found, "test records", _who(report)[0])


def _spending(report: SimulationReport) -> Iterator[str]:
    if not report.units:
        return
    costs = [_epsilon_of(unit) for unit in report.units]
    budgets = sorted({unit.epsilon_budget for unit in report.units})
    spent = f"{min(costs):.2f}" if min(costs) == max(costs) else f"{min(costs):.2f} to {max(costs):.2f}"
    among = " to ".join(f"{budget:g}" for budget in sorted({budgets[0], budgets[-1]}))
    yield f"Each party spent {spent} of its epsilon of {among} ({promise_words(report.guarantee)})."


def _epsilon_of(unit: UnitSpending) -> float:
    enforced = unit.enforce == "data_dependent"
    return unit.epsilon_data_dependent if enforced else unit.epsilon_worst_case


def _one_class(report: SimulationReport) -> Iterator[str]:
    told = {one.name for one in report.classes if one.right or one.wrong}
    silent = [one.name for one in report.classes if one.unanswered and not (one.right or one.wrong)]
    if report.answered and silent:
        yield (
            f"No record of class {', '.join(silent)} got a label, only of {', '.join(sorted(told))}: the"
            " labels teach nothing about it, and counted over all classes it is a class with no label right."
        )


def _who(report: SimulationReport) -> tuple[str, str]:
    """Return the learner, with its verb, and its source."""
    return (STUDENT, "the labels") if report.queries else ("the model is", "the sums")
