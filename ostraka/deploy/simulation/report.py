"""Report of a simulation, as written to report.json."""

from typing import Literal

from ostraka.client.students.dp_sgd.guarantee import DpSgdGuarantee
from ostraka.client.students.gain import Gain
from ostraka.common.mechanism import BOUND, Mechanism
from ostraka.common.plan.fields import BALLOTS, ENCODING, ENFORCE, TALLY
from ostraka.common.validation import FrozenModel
from ostraka.deploy.simulation.counts import ClassCount, LabelCount
from ostraka.deploy.simulation.data_distribution import Holding
from ostraka.deploy.simulation.defaults import TaskKind
from ostraka.deploy.simulation.guarantees import Guarantee
from ostraka.deploy.simulation.joint_training import TrainingSummary
from ostraka.deploy.simulation.quality import Quality, QuerierQuality, RoundQuality
from ostraka.deploy.simulation.settings import Settings
from ostraka.deploy.simulation.teacher_settings import Head

WHOLE = "all"
"""The group of a party whose records share one budget."""


class SpendingPoint(FrozenModel):
    """A unit's totals after one released batch, ``seconds`` after labelling began."""

    batch: int
    seconds: float
    epsilon_worst_case: float
    epsilon_data_dependent: float


class UnitSpending(FrozenModel):
    """What one party's records were charged, in both notions, against their budget."""

    party: str
    group: str
    adjacency: str
    notion: str
    epsilon_worst_case: float
    epsilon_data_dependent: float
    bound: BOUND
    order: float
    enforce: ENFORCE
    epsilon_budget: float
    delta: float
    history: tuple[SpendingPoint, ...]

    @property
    def name(self) -> str:
        """The party, with its group of records where it has several."""
        return self.party if self.group == WHOLE else f"{self.party}/{self.group}"


class Throughput(FrozenModel):
    """Speed of labelling, from opening the session to its last answer; of rounds with their trainings."""

    queries_per_second: float
    answers_per_second: float
    votes_per_second: float


class RecordSplit(FrozenModel):
    """Where the records of the data went: every record is in one of these."""

    labelled: int
    pool: int
    test: int
    parties: int


class SimulationReport(FrozenModel):
    """Everything a simulation measured; ``seconds`` maps steps to wall time.

    ``guarantee`` is what every epsilon protects, a "record" (DP) or a "label" alone (label-DP); "none" where
    teachers learned together by ttac.
    ``implied`` labels were not asked for, nor charged, because others imply that they are absent.
    ``classes`` counts queries by true class, ``labels`` answers by label: one of them is empty. Student and
    label metrics of a multi-label task are means over labels. ``turns`` are of several querying parties in
    the order in which they asked; student metrics are then means over them. ``rounds`` are of labels
    that were asked for in several. ``gain`` is of the one querying party that asked once, and
    ``student_guarantee`` of a student by DP-SGD, of several the one of the largest epsilon.
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
    student_accuracy_before: float
    student_accuracy_after: float
    student_balanced_accuracy_before: float
    student_balanced_accuracy_after: float
    records: RecordSplit
    notes: tuple[str, ...]
    gain: Gain | None
    student_guarantee: DpSgdGuarantee | None
    quality: Quality
    turns: tuple[QuerierQuality, ...]
    rounds: tuple[RoundQuality, ...]
    training: TrainingSummary | None
    holdings: tuple[Holding, ...]
    classes: tuple[ClassCount, ...]
    labels: tuple[LabelCount, ...]
    units: tuple[UnitSpending, ...]
    seconds: dict[str, float]
    throughput: Throughput


def switch_words(report: SimulationReport) -> str:
    """Who saw queries and histograms, by the names of the two switches, and whether ballots were verified."""
    ckks, blind = report.encoding == "ckks", report.tally == "blind"
    queries = f"encrypted (ckks, head {report.head})" if ckks else "seen by the parties (plain)"
    histograms = "seen by nobody (blind)" if blind else "seen by the guardian (aggregate)"
    return f"queries {queries}, ballots {report.ballots}, histograms {histograms}"
