"""Labelling and training in turns, each round about what the student is least sure of."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from ostraka.client.peers.retry import Retry
from ostraka.client.rounds.learner import POOL_FILE, Learner
from ostraka.client.rounds.rounds_options import Rounds, open_rounds, settings
from ostraka.client.rounds.rounds_state import round_folder
from ostraka.client.run.labelling import LabelResult, label
from ostraka.client.run.run_folder import held
from ostraka.client.run.site import load_query_site, load_site_task
from ostraka.client.session.meter import Watch
from ostraka.client.session.run_state import Stop
from ostraka.client.students.retraining import read_labelled
from ostraka.client.students.trainers import Choice, Progress, check_choice
from ostraka.common.clock import Clock
from ostraka.common.mechanism import invalid_plan


@dataclass(frozen=True)
class RoundsResult:
    """What rounds have come to.

    Attributes:
        folder: with a sub-folder for every round.
        rounds: how many were begun.
        exhausted: whether there was no record left to ask about.
        stopped: the public limit that the last round met, if one did.
    """

    folder: Path
    rounds: int
    exhausted: bool
    stopped: Stop | None


def learn_in_rounds(
    site_folder: Path,
    pool: Path,
    rounds: Rounds,
    folder: Path,
    *,
    labelled: Path | None = None,
    test: Path | None = None,
    choice: Choice | None = None,
    task_file: Path | None = None,
    seed: int = 0,
    on_labels: Callable[[int, LabelResult], None] = lambda number, result: None,
    on_training: Progress = lambda name, done, total: None,
    retry: Retry | None = None,
    clock: Clock | None = None,
    watch: Watch | None = None,
) -> RoundsResult:
    """Label, train, ask about what the student does not know, and again; calling again goes on.

    The first round asks about records drawn from `seed`, each later one about those that the student of the
    rounds before is least sure of and that were not asked about. Every round is a run of its own in
    `folder`/round-1 and so on, with its part of the pool and the student that all rounds so far trained.

    A public limit ends the rounds as `label` tells it, and so does a pool without further records. Raises
    what `label` and `retrain` raise, the reason of a first round that got nothing, `plan.invalid` for a task
    of several labels or more queries than records, and `run.mismatch` for a folder of rounds of another pool,
    task or kind.
    """
    site, task = load_query_site(site_folder), load_site_task(site_folder, task_file)
    if task.multi_label:
        raise invalid_plan(
            "rounds ask by interactive, which answers one class a record; label a task of several labels once"
        )
    data = task.load(pool)
    if rounds.queries > len(data):
        raise invalid_plan(f"{rounds.queries} queries a round are asked of a pool of {len(data)}; ask fewer")
    features, choice = task.prepare(data.X), choice or Choice()
    check_choice(choice, task)
    own = None if labelled is None else read_labelled(task, labelled)
    tested = None if test is None else read_labelled(task, test)

    def ask(number: int) -> LabelResult:
        run = round_folder(folder, number)
        return label(
            site.folder,
            run / POOL_FILE,
            rounds.options(number),
            run,
            student=None if number == 1 else round_folder(folder, number - 1) / choice.file,
            task_file=task_file,
            on_progress=lambda result: on_labels(number, result),
            retry=retry,
            clock=clock,
            watch=watch,
        )

    with held(folder):
        state = open_rounds(folder, task, features, settings(rounds, choice, seed))
        learner = Learner(folder, task, data, features, own, tested, choice, seed, on_training, state)
        exhausted, stopped = learner.run(rounds.count, rounds.queries, ask)
        return RoundsResult(folder, len(learner.state.rounds), exhausted, stopped)
