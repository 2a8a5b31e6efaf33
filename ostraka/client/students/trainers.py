"""Training of the chosen student on own and released labels."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ostraka.client.students.evaluation import Features, Labels, Records, Trainer
from ostraka.client.students.models import KINDS, own_model, probabilities, train
from ostraka.client.students.registry import make_student, student_class
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.learning.accuracy import POSITIVE
from ostraka.common.learning.device import AUTO, CPU
from ostraka.common.learning.factories import build_model, import_factory, is_factory
from ostraka.common.task import Task


@dataclass(frozen=True)
class ReleasedLabels:
    """A pool and the released labels of some of its records.

    Attributes:
        features: prepared features of the whole pool, float32 (N, F).
        rows: rows of the pool that have a label, int64 (n,).
        y: their labels: class indices, int64 (n,); or 1, 0 or UNKNOWN for every label, (n, labels).
        error: each label's probability of being wrong, as far as the mechanism determines it, float32 of y's
            shape; a student's own labels count as right.
        independent: whether each label, and its presence, depends on no other record of this party.
    """

    features: Features = field(repr=False)
    rows: NDArray[np.int64] = field(repr=False)
    y: Labels = field(repr=False)
    error: NDArray[np.float32] = field(repr=False)
    independent: bool

    @property
    def X(self) -> Features:  # noqa: N802
        """Features of the records that have a label, float32 (n, F)."""
        return self.features[self.rows]

    @property
    def unlabeled(self) -> Features:
        """Features of the rest of the pool, including records that the mechanism did not answer."""
        rest = np.ones(len(self.features), np.bool_)
        rest[self.rows] = False
        return self.features[rest]


SUPERVISED = "supervised"
NETWORK = "network"
PRIVATE = "dp-sgd"
VALIDATION = 5
"""One in this many own records is held back to decide when a network has learned enough."""
CLUSTERING = "denoise-ssl"
DOUBTING = (CLUSTERING, "aug-descent")
"""Students that find wrong labels, and need to know which labels may be wrong."""

Progress = Callable[[str, int, int], None]
"""Called with the name of a training, its steps done, and its total steps."""


@dataclass(frozen=True)
class Choice:
    """The student to train, and its settings.

    Attributes:
        student: name of the student, as in `ostraka.client.students.registry`.
        model: for the supervised student "logistic_regression", "mlp", "network", or a factory
            "module:function" of an estimator or of a torch module; other students can train a torch module as
            well. None: logistic regression for the supervised student, a network for others.
        steps: training steps of a network; None: the student's default.
        device: by name; "auto" selects a GPU if there is one.
        smoothing: whether a network's loss uses the known error rate of released labels.
        log: folder for TensorBoard's event files.
        checkpoint: folder for checkpoints, from which the same training resumes.
        clusters: number of clusters, for a student that clusters the pool.
        clusterer: method of clustering.
        second: a second student, which learns the labels that the first predicts for the whole pool.
            epsilon: required for a student that learns by DP-SGD.
        delta: for a student that learns by DP-SGD; None: its default.
        torch: whether a factory's model is a torch module, as `resolve` finds; every student can train one.
    """

    student: str = SUPERVISED
    model: str | None = None
    steps: int | None = None
    device: str = AUTO
    smoothing: bool = False
    log: Path | None = None
    checkpoint: Path | None = None
    clusters: int | None = None
    clusterer: str | None = None
    second: str | None = None
    epsilon: float | None = None
    delta: float | None = None
    torch: bool = False

    def __post_init__(self) -> None:
        """Raise `config.invalid` for a network's options without a network, and other conflicts."""
        if CLUSTERING not in (self.student, self.second) and (self.clusters or self.clusterer):
            raise _config(f"--clusters and --clusterer are for {CLUSTERING}, not for {self.student}")
        if self.private and self.second:
            raise _config(f"{PRIVATE} covers what it saves itself; leave out --second-student")
        if self.private and (self.log or self.checkpoint):
            raise _config(f"{PRIVATE} takes no log and no checkpoint, which its epsilon would not cover")
        if not self.private and (self.epsilon is not None or self.delta is not None):
            raise _config(f"--student-epsilon and --student-delta are for {PRIVATE}, not for {self.student}")
        if not self.own:
            self._check_options()

    @property
    def private(self) -> bool:
        """Whether training is private for its training records."""
        return self.student == PRIVATE

    @property
    def own(self) -> bool:
        """Whether the model comes from a factory."""
        return self.model is not None and is_factory(self.model)

    @property
    def first(self) -> "Choice":
        """The first student only."""
        return self._alone(self.student)

    @property
    def last(self) -> "Choice":
        """The student that is saved: the second one, if there is one."""
        if self.second is None:
            return self
        return self._alone(self.second, model=self.model if self.torch else None, smoothing=False)

    def _alone(self, student: str, **changes: Any) -> "Choice":
        """Return the choice of one student, with its own options only."""
        clustering = student == CLUSTERING
        return replace(
            self,
            student=student,
            second=None,
            clusters=self.clusters if clustering else None,
            clusterer=self.clusterer if clustering else None,
            **changes,
        )

    @property
    def name(self) -> str:
        """The student's name, or both names."""
        return self.student if self.second is None else f"{self.student} and {self.second}"

    @property
    def network(self) -> bool:
        """Whether a network is trained."""
        return self.torch or (not self.own and (self.student != SUPERVISED or self.model == NETWORK))

    @property
    def kind(self) -> str:
        """The kind of model."""
        if self.own and self.model:
            return self.model
        return NETWORK if self.network else self.model or "logistic_regression"

    def resolve(self, task: Task) -> "Choice":
        """Return this choice with `torch` set for a factory's model, which is built once for that.

        Raises `model.invalid` for a factory whose result is not allowed, `config.invalid` for options of
        networks if it returns an estimator.
        """
        if not self.own:
            return self
        shape = task.input.shape
        outputs = len(task.classes)
        if hasattr(build_model(self.kind, import_factory(self.kind), shape, outputs), "state_dict"):
            return replace(self, torch=True)
        own_model(self.kind, shape, outputs)
        self._check_options()
        return self

    def _check_options(self) -> None:
        if self.student != SUPERVISED and self.model not in (None, NETWORK):
            raise _config(
                f"the student {self.student} is a network, not {self.model}; leave out --model, or give "
                f"{NETWORK}"
            )
        of_networks = (
            self.steps or self.log or self.checkpoint or self.smoothing or self.device not in (AUTO, CPU)
        )
        if of_networks and not self.network:
            raise _config(
                f"{self.kind} takes no steps, log, checkpoint or smoothing and no GPU; choose --model network"
            )

    @property
    def file(self) -> str:
        """File name of the saved student in a run's folder."""
        return "student.safetensors" if self.last.network else "student.skops"


def trainer(
    choice: Choice,
    task: Task,
    released: ReleasedLabels | None,
    *,
    seed: int,
    progress: Progress = lambda name, done, total: None,
) -> Trainer:
    """Return a function that trains the chosen student on own records, if any, and released ones, if any.

    Raises `config.invalid` for a student by DP-SGD without an epsilon, or with labels that it cannot cover.
    """
    if choice.second is not None:
        if released is None:
            return trainer(choice.first, task, None, seed=seed, progress=progress)
        return partial(_train_both, choice, task, released, seed, progress)
    if choice.private:
        _check_covered(choice, released)
    if choice.network:
        return partial(_network, choice, task, released, seed, progress)
    fit = partial(
        train,
        choice.kind,
        standardize=task.input.preprocessing == "none",
        seed=seed,
        shape=task.input.shape,
        classes=len(task.classes),
    )
    return partial(_classifier, fit, released)


def check_choice(choice: Choice, task: Task) -> None:
    """Raise `config.invalid` for an unknown student or parameter, `device.missing` for a missing device."""
    if choice.network:
        _student(choice, task, seed=0).learning.place  # noqa: B018 - raises if there is no such device
    elif not choice.own and choice.kind not in KINDS:
        known = ", ".join((*KINDS, NETWORK))
        raise _config(f"there is no model {choice.kind}; choose one of {known}, or give module:factory")


def _train_both(
    choice: Choice,
    task: Task,
    released: ReleasedLabels,
    seed: int,
    progress: Progress,
    own: Records | None,
    name: str,
) -> Any:
    """Train the second student on own labels, and on the first one's predictions for the whole pool.

    Released labels are not used next to these predictions, which already take them into account (Tang et al.
    2022, 4.2.2).
    """
    first = trainer(choice.first, task, released, seed=seed, progress=progress)(own, f"{name}-first")
    given = probabilities(first, released.features, len(task.classes))
    y = (given >= POSITIVE).astype(np.int64) if task.multi_label else given.argmax(axis=1)
    predicted = replace(
        released, rows=np.arange(len(y)), y=y, error=np.zeros(y.shape, np.float32), independent=False
    )
    return trainer(choice.last, task, predicted, seed=seed, progress=progress)(own, name)


def _classifier(
    fit: Callable[..., Any], released: ReleasedLabels | None, own: Records | None, name: str
) -> Any:
    given = None if released is None else (released.X, released.y)
    parts = [records for records in (own, given) if records is not None]
    return fit(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))


def _network(
    choice: Choice,
    task: Task,
    released: ReleasedLabels | None,
    seed: int,
    progress: Progress,
    own: Records | None,
    name: str,
) -> Any:
    from ostraka.common.learning.training_run import TrainingRun

    student = _student(choice, task, seed=seed)
    labelled, validation = _split(own, seed, held_back=not choice.private)
    if released is not None:
        labelled = _with(labelled, released, choice)
    return student.learn_from(
        labelled,
        None if released is None else released.unlabeled,
        validation,
        TrainingRun(
            progress=partial(progress, name),
            checkpoint=None if choice.checkpoint is None else choice.checkpoint / f"{name}.safetensors",
            log=None if choice.log is None else choice.log / name,
        ),
    )


def _student(choice: Choice, task: Task, *, seed: int) -> Any:
    """Return the chosen network, untrained."""
    return make_student(
        choice.student, shape=task.input.shape, classes=len(task.classes), seed=seed, **_options(choice)
    )


def _options(choice: Choice) -> dict[str, Any]:
    """Return the student's options besides its task."""
    learning = student_class(choice.student).defaults(choice.device)
    if choice.steps is not None:
        learning = replace(learning, steps=choice.steps)
    clustering = {"n_clusters": choice.clusters, "clusterer": choice.clusterer}
    budget = {"epsilon": choice.epsilon, "delta": choice.delta}
    own = {"network": choice.model} if choice.torch else {}
    given = {key: value for key, value in (clustering | budget).items() if value is not None}
    return {"learning": learning} | own | given


def _check_covered(choice: Choice, released: ReleasedLabels | None) -> None:
    """Raise `config.invalid` unless there is an epsilon, and each label depends on its own record alone."""
    if choice.epsilon is None:
        raise _config(f"{PRIVATE} needs a budget of its own; give --student-epsilon, such as 8")
    if released is not None and not released.independent:
        raise _config(
            f"{PRIVATE} covers labels that depend on their own record alone, and those of this run depend on "
            "others by rounds, a student, dependencies, clusters or records that repeat; label the pool, each"
            " record once, by another mechanism"
        )


def _split(own: Records | None, seed: int, *, held_back: bool) -> tuple[Any, Any]:
    """Split own records, whose labels are right, into training and validation; the latter is None if few."""
    from ostraka.common.learning.data import Labelled

    if own is None:
        return None, None
    whole = Labelled(*own, np.zeros(own[1].shape, np.float32))
    if not held_back or len(own[1]) < 2 * VALIDATION:
        return whole, None
    held = np.random.default_rng(seed).permutation(len(own[1])) % VALIDATION == 0
    return whole.rows(~held), whole.rows(held)


def _with(labelled: Any, released: ReleasedLabels, choice: Choice) -> Any:
    """Join own and released labels; for students that doubt labels, every released one may be wrong."""
    from ostraka.common.learning.data import Labelled, join

    error = released.error if choice.smoothing else None
    if choice.student in DOUBTING:
        error = np.maximum(released.error, np.finfo(np.float32).tiny)
    given = Labelled(released.X, released.y, error)
    return given if labelled is None else join(labelled, given)


def _config(problem: str) -> OstrakaError:
    return OstrakaError(ErrorCode.CONFIG_INVALID, f"Student: {problem}.")
