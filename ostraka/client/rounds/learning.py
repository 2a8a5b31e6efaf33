"""Active learning: labelling and training in turns, each round about what the student is least sure of."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from ostraka.client.dependencies.conditional_labelling import label_by_dependencies
from ostraka.client.dependencies.grouped_labelling import label_by_settings
from ostraka.client.retraining import load_labelled, prepare_labelled
from ostraka.client.rounds.learner import POOL_FILE, Learner
from ostraka.client.rounds.rounds_options import Rounds, check_rounds, open_rounds, settings
from ostraka.client.run.dependency_rules import load_dependencies
from ostraka.client.run.labelling import UNWATCHED, LabellingRun, LabelResult, label
from ostraka.client.run.rounds_state import is_rounds, round_folder
from ostraka.client.run.run_folder import hold_folder
from ostraka.client.run.run_planner import UNUSED_NONCE, RunPlanner, run_planner
from ostraka.client.run.site import load_class_task, load_query_site
from ostraka.client.session.run_state import Stop
from ostraka.client.students.trainers import Progress, check_choice
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.mechanism import invalid_plan
from ostraka.common.task import Source, Task


def round_queries(rounds: Rounds, number: int, planner: Callable[[int], RunPlanner]) -> int:
    """Return how many queries round `number` asks: at most `rounds.queries`, and at least one.

    If budgets do not pay for all remaining rounds, these get equal numbers of queries, counted as if every
    query were answered. Savings from abstentions go to the next rounds, and the last round asks until budgets
    end. `planner` makes the planner of a round. If the guardian does not reveal what fits, as with
    data-dependent enforcement, every round asks `rounds.queries`.
    """
    left = rounds.count - number + 1
    if left <= 1:
        return rounds.queries

    def fits(one: int) -> int | None:
        wanted = left * rounds.queries
        return replace(planner(one), pool_size=wanted).fits()

    now = fits(number)
    later = fits(number + 1)
    if not now or not later:
        return rounds.queries
    return min(rounds.queries, equal_share(now, later, left))


def equal_share(now: int, later: int, rounds: int) -> int:
    """Return the maximum number of queries that a budget pays for in each of `rounds`, at least one.

    The budget pays for `now` queries at the first round's price, or for `later` at the other rounds' price.
    """
    return max(1, now * later // (later + (rounds - 1) * now))


@dataclass(frozen=True)
class RoundsResult:
    """The result of rounds.

    Attributes:
        folder: with a sub-folder for every round.
        rounds: number of rounds that were begun.
        exhausted: whether no record was left to ask about.
        stopped: the public limit that the last round met, if any.
    """

    folder: Path
    rounds: int
    exhausted: bool
    stopped: Stop | None


def learn_in_rounds(
    site_folder: Path,
    pool: Source,
    rounds: Rounds,
    folder: Path,
    *,
    labelled: Source | None = None,
    test: Source | None = None,
    task_file: Path | None = None,
    on_labels: Callable[[int, LabelResult], None] = lambda number, result: None,
    on_training: Progress = lambda name, done, total: None,
    run: LabellingRun = UNWATCHED,
) -> RoundsResult:
    """Label, train, ask about what the student is unsure of, and repeat; calling again resumes.

    The first round asks about records drawn from `rounds.seed`. Each later one asks about the unasked records
    that the previous rounds' student is least sure of. Every round is a run of its own in `folder`/round-1
    and so on, with its part of the pool and the student trained on all rounds so far.

    Everything in `run` is used except `on_progress`; instead, `on_labels` is called with the round's number.

    New rounds begin with the check of `label`, which raises `budget.too_small`. If budgets do not pay for all
    rounds, each asks fewer queries, so the first leaves enough for the others.

    A public limit ends the rounds as in `label`, and so does a pool without further records. Raises the
    errors of `label`, `label_by_dependencies`, `label_by_settings` and `retrain`, the reason if a first round
    got no labels, `plan.invalid` for more queries than records or a mechanism that does not fit rounds, and
    `run.mismatch` for a folder with rounds of another pool, task or kind.
    """
    site = load_query_site(site_folder)
    task = load_class_task("learning in rounds", site_folder, task_file)
    data = task.pool(pool)
    _check(rounds, task, len(data))
    features = task.prepare(data.X)
    rounds = replace(rounds, student=rounds.student.resolve(task))
    check_choice(rounds.student, task)
    own, tested = (
        None if given is None else prepare_labelled(task, load_labelled(task, given))
        for given in (labelled, test)
    )

    def planner(number: int) -> RunPlanner:
        options = rounds.options(number)
        return run_planner(site, task, options, rounds.queries, run.clock, run.retry)

    if not is_rounds(folder):
        # The first and later rounds have different mechanisms; both must be possible before anything is paid.
        for number in (1, 2):
            planner(number).plan(UNUSED_NONCE, None)
        planner(1).check()

    def ask(number: int) -> LabelResult:
        of_round = round_folder(folder, number)
        return _labelling(rounds, folder, number)(
            site.folder,
            of_round / POOL_FILE,
            rounds.options(number),
            of_round,
            task_file=task_file,
            run=replace(run, on_progress=partial(on_labels, number)),
        )

    queries = partial(round_queries, rounds, planner=planner)
    with hold_folder(folder):
        state = open_rounds(folder, task, features, settings(rounds))
        learner = Learner(folder, task, data, features, own, tested, rounds, queries, on_training, state)
        exhausted, stopped = learner.run(ask)
        return RoundsResult(folder, len(learner.state.rounds), exhausted, stopped)


def _check(rounds: Rounds, task: Task, records: int) -> None:
    """Raise `plan.invalid` or `config.invalid` unless the task and a pool of `records` allow the rounds."""
    check_rounds(rounds.first.mechanism)
    if rounds.dependencies is not None:
        if (rounds.label_settings or rounds.first.labels) is not None:
            raise invalid_plan(
                "dependencies say which labels are asked; leave out labels and --label-settings"
            )
        load_dependencies(rounds.dependencies).check(task)
    if rounds.queries > records:
        raise invalid_plan(f"{rounds.queries} queries a round are asked of a pool of {records}; ask fewer")
    if rounds.student.private:
        raise OstrakaError(
            ErrorCode.CONFIG_INVALID,
            "In rounds each record decides which other records are asked about, and the epsilon of dp-sgd "
            "would not cover that: label the whole pool by `ostraka query label`, then retrain.",
        )


def _labelling(rounds: Rounds, folder: Path, number: int) -> Callable[..., LabelResult]:
    """Return the function that labels a round: by dependencies, by label settings, or all labels alike."""
    if rounds.dependencies is not None:
        return partial(label_by_dependencies, dependencies=rounds.dependencies)
    if rounds.label_settings is not None:
        return partial(label_by_settings, settings=rounds.label_settings)
    before = round_folder(folder, number - 1) / rounds.student.file
    return partial(label, student=before if rounds.options(number).mechanism.takes_scores else None)
