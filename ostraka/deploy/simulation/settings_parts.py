"""The parts of a simulation's settings: records, the plan, budgets, teachers and students."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal, get_args

from pydantic import BeforeValidator, ConfigDict, Field, model_validator

from ostraka.client.run.asking_options import Adjacency
from ostraka.client.students.registry import (
    DOUBTING_STUDENTS,
    VOTES_STUDENTS,
    DoubtingStudent,
    VotesStudent,
)
from ostraka.common.console.options import KEY, Completion
from ostraka.common.crypto.logits import Head
from ostraka.common.learning.device import AUTO, DeviceName
from ostraka.common.mechanism import BOUND
from ostraka.common.mechanism.arguments import split_mechanism
from ostraka.common.plan.choices import BALLOTS, BASE_TRANSFERS, ENCODING, ENFORCE, NOISE, TALLY
from ostraka.common.planning.options import complete_mechanism
from ostraka.common.validation import FrozenModel
from ostraka.deploy.simulation.defaults import RANDOMIZED, TaskKind
from ostraka.deploy.simulation.schemes import Scheme, check_option, level_epsilons, parse_numbers
from ostraka.services.teachers.config import Tuning

NamedNumbers = Annotated[dict[str, float], BeforeValidator(parse_numbers)]
"""A table, or text like low=0.3,high=0.7."""


class SettingsPart(FrozenModel):
    """A part of the settings, which people write as keys of one file."""

    model_config = ConfigDict(allow_inf_nan=False)


class RecordSettings(SettingsPart):
    """The records, who holds them, and how many.

    ``split`` says which records a party holds: ``similarity`` percent of them at random and the others sorted
    by label, a Dirichlet of ``alpha``, or ``by`` a column. ``queries`` is the size of the pool; noise_cluster
    asks about ``clusters`` of it instead of its records.
    """

    data: str = Field(
        default="digits",
        description="Records: digits (a public data set), or a .csv, .parquet, .xlsx or .npz file.",
    )
    label: str = Field(
        default="label", description="Label column of a table; several are separated by commas."
    )
    task_file: str | None = Field(
        default=None, description="Task file of the records. Default: a task proposed from all records."
    )
    task: TaskKind | None = Field(
        default=None, description="Kind of task: single, multilabel or number. Default: decided by the data."
    )
    split: Scheme = Field(
        default="iid",
        description="Split of records among parties: iid (default), label-sorted, dirichlet or column.",
    )
    similarity: float | None = Field(
        default=None,
        ge=0,
        le=100,
        description="For label-sorted: percentage of the records that are split at random.",
    )
    alpha: Annotated[float | None, KEY] = Field(
        default=None,
        ge=1e-3,
        le=1e6,
        description="For dirichlet: concentration; the smaller, the more parties differ.",
    )
    by: Annotated[str | None, KEY] = Field(
        default=None, description="For column: name of the column; every party gets a range of its values."
    )
    parties: int = Field(default=5, ge=2, le=100, description="Number of answering parties.")
    labelled: int = Field(default=40, ge=1, description="Labelled records of the querying party.")
    queries: int = Field(default=300, ge=1, description="Size of the querying party's unlabelled pool.")
    clusters: int = Field(
        default=30, ge=1, description="For noise_cluster and denoise-ssl: clusters of the pool."
    )
    seed: int = Field(
        default=0, ge=0, description="Seed of the data split and of training; noise is never seeded."
    )

    @model_validator(mode="after")
    def _split_has_its_option(self) -> "RecordSettings":
        check_option(self.split, {"similarity": self.similarity, "alpha": self.alpha, "by": self.by})
        return self

    @property
    def label_columns(self) -> str | tuple[str, ...]:
        """The label column of a table, or all of them if ``label`` lists several with commas."""
        return tuple(self.label.split(",")) if "," in self.label else self.label


class PlanSettings(SettingsPart):
    """The contents of the querying party's plan.

    ``encoding`` hides queries from parties, ``tally`` histograms from the guardian; ``ballots`` says whether
    ballots are verified; ``noise`` who draws it; ``variant`` says how different budgets are used.
    """

    mechanism: Annotated[str, Completion(complete_mechanism)] = Field(
        default="confident",
        description="How votes become labels, such as gnmax:sigma=40. Default: confident, or tau for several "
        "labels, with noise that suits the teachers. `ostraka mechanisms` lists all.",
    )
    adjacency: Adjacency = Field(
        default="record", description="Unit of privacy: record (DP), or label (label-DP)."
    )
    variant: Literal["none", "upsampling", "vanishing", "weighting"] = Field(
        default="none",
        description="How differing budgets are used: none, upsampling, vanishing or weighting.",
    )
    encoding: ENCODING = Field(
        default="plain",
        description="Encoding of queries: plain (default) or ckks (encrypted). The policies of all simulated "
        "sites then allow what the head needs.",
    )
    tally: TALLY = Field(default="aggregate", description="Tally: aggregate (default) or blind.")
    base_transfers: Annotated[BASE_TRANSFERS, KEY] = Field(
        default="ed25519", description="Base transfers of garbled circuits: ed25519 (default) or ml-kem."
    )
    ballots: Annotated[BALLOTS | None, KEY] = Field(
        default=None, description="Ballots: verified or unverified. Default: verified if possible."
    )
    noise: NOISE = Field(
        default="guardian", description="Who draws noise: guardian (default) or parties, for mechanism gnmax."
    )
    colluders: Annotated[int, KEY] = Field(
        default=0,
        ge=0,
        description="If parties draw the noise: number of parties that may collude. Default: 0.",
    )
    batch_size: int = Field(default=100, ge=1, description="Queries released together.")
    quorum: Annotated[int | None, KEY] = Field(
        default=None,
        ge=2,
        description="Smallest number of parties whose answers are released together. Default: a majority.",
    )

    @property
    def kind(self) -> str:
        """The mechanism's name, without its parameters."""
        return split_mechanism(self.mechanism)[0]

    @property
    def randomizes(self) -> bool:
        """Whether parties answer with labels of their own records, each randomised anew."""
        return self.kind in RANDOMIZED


class BudgetSettings(SettingsPart):
    """Every party's budget, and what is charged to it.

    ``consent`` divides every party's records over consent levels, whose budgets are ``levels`` or else parts
    of ``epsilon``; ``epsilons`` gives whole parties their own budgets.
    """

    epsilon: float = Field(default=10.0, gt=0, description="Epsilon of every party's budget.")
    epsilons: NamedNumbers | None = Field(
        default=None,
        description="Epsilon of single parties' budgets, such as party-1=5,party-2=20; all other "
        "parties have --epsilon.",
    )
    delta: float = Field(default=1e-5, gt=0, lt=1, description="Delta of every party's budget.")
    enforce: ENFORCE = Field(
        default="worst_case", description="Costs that budgets limit: worst_case or data_dependent."
    )
    bound: Annotated[BOUND, KEY] = Field(
        default="exact", description="Bound of data-dependent costs. Default: exact."
    )
    consent: NamedNumbers | None = Field(
        default=None,
        description="Share of the records at each consent level, such as low=0.3,medium=0.5,high=0.2.",
    )
    levels: Annotated[NamedNumbers | None, KEY] = Field(
        default=None,
        description="Epsilon of each consent level, such as low=1,.... Default: parts of --epsilon.",
    )
    on_exhaustion: Annotated[Literal["stop", "vanish"], KEY] = Field(
        default="stop",
        description="What happens when a budget is exhausted: the session stops (stop), or goes "
        "on without that unit (vanish).",
    )

    @property
    def level_epsilons(self) -> dict[str, float]:
        """Epsilon of every consent level; empty if records have none."""
        return {} if self.consent is None else level_epsilons(self.consent, self.levels, self.epsilon)

    def epsilon_of(self, site: str) -> float:
        """Return epsilon of the budget of a party whose records have no consent levels."""
        return (self.epsilons or {}).get(site, self.epsilon)


Training = Literal["conventional", "ttac", "dp-ttac"]
"""Whether teachers learn separately, or together with those of other parties."""


class TeacherSettings(SettingsPart):
    """Models of the parties, and joint training.

    ``thresholds`` says how teachers of several labels choose the score from which they say yes. Teachers that
    vote on encrypted queries, with ``encoding`` ckks, have a ``head``, linear by default. With ``training``
    other than conventional the teachers of all parties learn together for ``rounds`` rounds, led by the first
    party, at ``learning_rate``; under dp-ttac with noise of ``training_sigma`` on each sum.
    """

    teachers: int = Field(default=10, ge=1, le=1000, description="Teachers of each party.")
    head: Annotated[Head | None, KEY] = Field(
        default=None,
        description="Kind of kind of teachers that answer encrypted queries: linear, square, "
        "square-mlp or square-cnn.",
    )
    model: str | None = Field(
        default=None, description="Model of the teachers. Default: one that suits the data."
    )
    device: DeviceName = Field(
        default=AUTO,
        description="Device of teachers and students that are networks: auto (a GPU if there is one), cpu, "
        "cuda, cuda:1, mps, or the UUID of a card or MIG slice.",
    )
    thresholds: Annotated[Tuning, KEY] = Field(
        default="none",
        description="Thresholds of teachers of several labels: none (one half), global or per_label.",
    )
    training: Training = Field(
        default="conventional",
        description="Training of teachers: conventional (default, each alone), or jointly over all parties: "
        "dp-ttac or ttac.",
    )
    rounds: Annotated[int, KEY] = Field(
        default=20, ge=2, description="For dp-ttac and ttac: number of rounds. Default: 20."
    )
    learning_rate: Annotated[float, KEY] = Field(
        default=0.2, gt=0, description="For dp-ttac and ttac: learning rate of teachers. Default: 0.2."
    )
    training_sigma: Annotated[float, KEY] = Field(
        default=10.0,
        gt=0,
        description="For dp-ttac: standard deviation of each parameter's noise, in radii. Default: 10.",
    )

    @model_validator(mode="after")
    def _one_model_is_named(self) -> "TeacherSettings":
        if self.head is not None and self.model is not None:
            raise ValueError(f"head {self.head} and model {self.model} exclude each other; give one of them")
        return self

    @property
    def joint(self) -> bool:
        """Whether teachers of several parties learn together."""
        return self.training != "conventional"


LabelDp = Literal["ldp-normal", "ldp-ssl", "denoise-ssl", "aug-descent", "noisecluster", "pate-fm"]

MECHANISM_OF: Mapping[str, str] = {
    "ldp-normal": "rand_res",
    "ldp-ssl": "rand_res",
    "denoise-ssl": "rand_res",
    "aug-descent": "rand_res",
    "noisecluster": "noise_cluster",
}
"""The mechanism of schemes in which all sites share the features, for one label per record; else any of
teachers.
"""
SEVERAL_OF: Mapping[str, str] = {"ldp-normal": "rand_res_labels", "ldp-ssl": "rand_res_labels"}
"""The same if a record has several labels."""
ONE_LABEL = frozenset(MECHANISM_OF) - frozenset(SEVERAL_OF)
"""Schemes that learn, or count, one label per record."""

STUDENT_OF: Mapping[str, VotesStudent] = {"noisecluster": "supervised", "pate-fm": "fixmatch"}
"""The default student of schemes whose labels are not each randomised; any student may be given."""


Learn = Literal["votes", "auto", "moments", "bins", "boost", "gradients"]
"""What the querying party learns from: labels by vote, or sums with any suitable or one given learner."""


class StudentSettings(SettingsPart):
    """Who learns from what.

    `learn` is what the querying party asks for: labels by vote, or noisy sums from which a learner makes a
    model of all records; the other settings here apply to labels.

    ``student`` learns for ``steps`` steps; by default it is the model of `query retrain`. With
    ``label_rounds`` above 1, half of the pool is asked about in equal parts: the first is drawn at random,
    and each later one contains the records of which the student so far is least sure. ``dependencies`` asks
    about implied labels last, according to the querying party's own records. ``queriers`` parties, the
    weakest first, ask all others in turn. These three combine. ``label_dp`` shares the features of all
    records and keeps only labels secret; ``label_epsilon`` bounds what one record's randomised label may
    reveal. ``student_epsilon`` at ``student_delta`` bounds what a student by DP-SGD may reveal about one of
    its training records.
    """

    learn: Learn = Field(
        default="votes",
        description="What the querying party asks for: votes (default), or sums for the learner "
        "moments, bins, boost or gradients, or for auto, which chooses one.",
    )
    student: VotesStudent | None = Field(default=None, description=f"Student: {VOTES_STUDENTS}.")
    second_student: DoubtingStudent | None = Field(
        default=None,
        description="Second student, trained on the label that the first predicts for every "
        f"record of the pool: {DOUBTING_STUDENTS}.",
    )
    student_epsilon: float | None = Field(
        default=None, gt=0, description="For dp-sgd: epsilon of the student for the records it learns from."
    )
    student_delta: Annotated[float | None, KEY] = Field(
        default=None, gt=0, lt=1, description="For dp-sgd: delta of the student. Default: 1e-5."
    )
    steps: int | None = Field(
        default=None, ge=1, description="Training steps of a student that is a network."
    )
    label_rounds: int = Field(
        default=1,
        ge=1,
        description="Number of active-learning rounds; each asks about the records of which the last student "
        "is least certain.",
    )
    dependencies: bool = Field(
        default=False, description="Do not ask about labels that already released labels imply."
    )
    queriers: int | None = Field(
        default=None,
        ge=1,
        description="Number of querying parties; each in turn asks all other sites, the least accurate party "
        "first.",
    )
    label_dp: LabelDp | None = Field(
        default=None,
        description="Method for public features and secret labels: ldp-normal, ldp-ssl, denoise-ssl, "
        "aug-descent, noisecluster or pate-fm.",
    )
    label_epsilon: float = Field(
        default=2.0, gt=0, description="For label-DP: epsilon of a randomized label. Default: 2."
    )

    @model_validator(mode="after")
    def _label_dp_asks_about_all_at_once(self) -> "StudentSettings":
        chosen = {
            "label_rounds": self.label_rounds > 1,
            "dependencies": self.dependencies,
            "queriers": self.queriers is not None,
        }
        asked = [name for name, given in chosen.items() if given]
        if self.label_dp is not None and asked:
            raise ValueError(
                f"label_dp {self.label_dp} releases one label of every record at once, for all to use; "
                f"leave {' and '.join(asked)} out"
            )
        if self.label_dp is not None and self.student is not None and self.label_dp not in STUDENT_OF:
            raise ValueError(f"label_dp {self.label_dp} is a student by itself; leave out student")
        if self.label_dp is not None and self.second_student is not None and self.label_dp not in STUDENT_OF:
            raise ValueError(f"label_dp {self.label_dp} is a student by itself; leave out second_student")
        if self.steps is not None and self.learner == "supervised":
            raise ValueError("steps are of students that are networks; name one, such as student vat")
        return self

    @model_validator(mode="after")
    def _models_of_sums_take_no_labels(self) -> "StudentSettings":
        chosen = {
            "student": self.student is not None,
            "second_student": self.second_student is not None,
            "label_rounds": self.label_rounds > 1,
            "dependencies": self.dependencies,
            "queriers": self.queriers is not None,
            "label_dp": self.label_dp is not None,
        }
        asked = [name for name, given in chosen.items() if given]
        if self.sums and asked:
            raise ValueError(f"learn {self.learn} takes sums, not labels; leave {' and '.join(asked)} out")
        return self

    @property
    def sums(self) -> bool:
        """Whether the querying party asks for sums instead of labels."""
        return self.learn != "votes"

    @model_validator(mode="after")
    def _private_students_have_budgets(self) -> "StudentSettings":
        private = self.student == "dp-sgd"
        if private and self.student_epsilon is None:
            raise ValueError("student dp-sgd needs student_epsilon, such as 8")
        if not private and (self.student_epsilon, self.student_delta) != (None, None):
            raise ValueError("student_epsilon and student_delta are for student dp-sgd; leave them out")
        if private and (self.label_rounds > 1 or self.dependencies):
            asked = "dependencies" if self.dependencies else "label_rounds"
            raise ValueError(
                f"student dp-sgd covers labels that depend on their own record alone; leave {asked} out"
            )
        return self

    @property
    def learner(self) -> str:
        """The student, by its name for `query retrain`."""
        if self.label_dp is None:
            return self.student or "supervised"
        return self.student or STUDENT_OF.get(self.label_dp) or self.label_dp

    @property
    def clusters_pool(self) -> bool:
        """Whether a student divides the pool into clusters."""
        return "denoise-ssl" in (self.learner, self.second_student)


def suiting(label_dp: str | None, *, several: bool) -> Mapping[str, Any]:
    """Return settings for labels as the only secret; empty if `label_dp` is not such a scheme.

    Records have `several` labels, or one.
    """
    if label_dp is None or label_dp not in get_args(LabelDp):
        return {}
    known = SEVERAL_OF if several else MECHANISM_OF
    by = {"mechanism": known[label_dp]} if label_dp in known else {}
    return {"adjacency": "label", **by}
