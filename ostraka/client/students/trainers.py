"""Training of the chosen student on own and on released labels."""

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
    """A pool and the labels that some of its records got.

    Attributes:
        features: of the whole pool, prepared, float32 (N, F).
        rows: of the pool that have a label, int64 (n,).
        y: their labels: class indices, int64 (n,); or 1, 0 or UNKNOWN for every label, (n, labels).
        error: how often each is wrong as far as its mechanism tells, float32 of y's shape; a student's own
            labels count as right.
        independent: whether each label, and that there is one, depends on no other record of this party.
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
        """Features of the rest of the pool, what the mechanism did not answer included."""
        rest = np.ones(len(self.features), np.bool_)
        rest[self.rows] = False
        return self.features[rest]


SUPERVISED = "supervised"
NETWORK = "network"
PRIVATE = "dp-sgd"
VALIDATION = 5
"""One in so many own records is held back to see when a network has learned enough."""
CLUSTERING = "denoise-ssl"
DOUBTING = (CLUSTERING, "aug-descent")
"""Students that sort out wrong labels, and so need to know which may be wrong."""

Progress = Callable[[str, int, int], None]
"""Told which training is how many steps far, of how many."""


@dataclass(frozen=True)
class Choice:
    """What is trained, and how.

    Attributes:
        student: the student by name, as `ostraka.client.students.registry` lists them.
        model: of the supervised student "logistic_regression", "mlp", "network", or what a factory
            "module:function" gives: an estimator, or a torch module, which other students train as well;
            None: the first, and the network of any other student.
        steps: of a network's training; None: what suits the student.
        device: by name; "auto" takes a GPU where there is one.
        smoothing: whether a network takes released labels for wrong as often as their mechanism is known
            to be.
        log: folder for TensorBoard's event files.
        checkpoint: folder for checkpoints, from which the same training goes on.
        clusters: of a student that clusters the pool, how many; `clusterer` by which.
        second: a second student, which learns the labels that the first predicts for the whole pool.
        epsilon: of a student that learns by DP-SGD, and `delta`; None: what the student takes by itself.
        torch: whether a factory's model is a torch module, as `resolve` finds: any student may train it.
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
        """Raise `config.invalid` for options of networks where none is trained, and the converse."""
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
        """Whether training is private for the records that are learned from."""
        return self.student == PRIVATE

    @property
    def own(self) -> bool:
        """Whether the model is a factory's."""
        return self.model is not None and is_factory(self.model)

    @property
    def first(self) -> "Choice":
        """The first student alone."""
        return self._alone(self.student)

    @property
    def last(self) -> "Choice":
        """The student that is saved: the second one alone, where there is one."""
        if self.second is None:
            return self
        return self._alone(self.second, model=self.model if self.torch else None, smoothing=False)

    def _alone(self, student: str, **changes: Any) -> "Choice":
        """Return the choice of one student, with what is for it."""
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
        """The student's name, or those of both."""
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
        """Return this with the library of a factory's model, which is built once to see it.

        Raises `model.invalid` for a factory that gives nothing which is allowed, `config.invalid` for
        options of networks where it gives an estimator.
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
        """What the saved student's file is called in a run's folder."""
        return "student.safetensors" if self.last.network else "student.skops"


def trainer(
    choice: Choice,
    task: Task,
    released: ReleasedLabels | None,
    *,
    seed: int,
    progress: Progress = lambda name, done, total: None,
) -> Trainer:
    """Return what trains the chosen student on own records, if any, and the released ones, if any.

    Raises `config.invalid` for a student by DP-SGD without an epsilon, or of labels that it cannot cover.
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
    """Raise `config.invalid` for a student or parameter that there is not, `device.missing` for a device."""
    if choice.network:
        _student(choice, task, seed=0).learning.place  # noqa: B018 - it says whether there is such a device
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
    """Return the second student: of own labels, and of what the first one says of every record of the pool.

    Released labels are not kept beside what the first says: it has weighed them against each other (Tang et
    al. 2022, 4.2.2).
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
    """Return the network that was chosen, before it has learned."""
    return make_student(
        choice.student, shape=task.input.shape, classes=len(task.classes), seed=seed, **_options(choice)
    )


def _options(choice: Choice) -> dict[str, Any]:
    """Return the options that the student is made with beyond its task."""
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
    """Own records, known to be right, to learn from and to look at, the second None where they are few."""
    from ostraka.common.learning.data import Labelled

    if own is None:
        return None, None
    whole = Labelled(*own, np.zeros(own[1].shape, np.float32))
    if not held_back or len(own[1]) < 2 * VALIDATION:
        return whole, None
    held = np.random.default_rng(seed).permutation(len(own[1])) % VALIDATION == 0
    return whole.rows(~held), whole.rows(held)


def _with(labelled: Any, released: ReleasedLabels, choice: Choice) -> Any:
    """Own and released labels; a student that doubts labels is told that any released one may be wrong."""
    from ostraka.common.learning.data import Labelled, join

    error = released.error if choice.smoothing else None
    if choice.student in DOUBTING:
        error = np.maximum(released.error, np.finfo(np.float32).tiny)
    given = Labelled(released.X, released.y, error)
    return given if labelled is None else join(labelled, given)


def _config(problem: str) -> OstrakaError:
    return OstrakaError(ErrorCode.CONFIG_INVALID, f"Student: {problem}.")
