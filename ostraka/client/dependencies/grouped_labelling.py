"""Labels for a pool, asked in groups with settings of their own."""

from collections.abc import Collection, Iterator
from pathlib import Path

from ostraka.client.dependencies.label_settings import (
    LabelSettings,
    load_label_settings,
    write_label_settings,
)
from ostraka.client.dependencies.several_runs import PartedResult, PartialRun, Pool, SeveralRuns, check_kept
from ostraka.client.run.combined import GROUP, SETTINGS_FILE, Combined, combine_groups
from ostraka.client.run.labelling import UNWATCHED, LabellingRun
from ostraka.client.run.options import PlanOptions, asked_labels
from ostraka.client.run.run_folder import hold_folder
from ostraka.client.run.run_planner import UNUSED_NONCE
from ostraka.client.run.site import load_class_task
from ostraka.common.mechanism import invalid_plan
from ostraka.common.task import Source, Task


def label_by_settings(
    site_folder: Path,
    pool: Source,
    options: PlanOptions,
    folder: Path,
    *,
    settings: Path,
    task_file: Path | None = None,
    run: LabellingRun = UNWATCHED,
) -> PartedResult:
    """Label the records of `pool` as `labelling.label` does, each label with its own settings.

    Labels with equal settings are one run in a sub-folder of `folder`; after every batch of the first run,
    each other run asks about the same queries. Together they make its labels.csv. Calling again resumes at
    any point. Raises as `labelling.label`, `config.invalid` or `plan.invalid` for settings that are damaged
    or do not fit, and `run.mismatch` if they differ from the folder's.
    """
    groups = _groups(
        load_label_settings(settings), load_class_task("labelling", site_folder, task_file), options
    )
    asked = Pool.of(site_folder, pool, options, folder, f"{GROUP}-1", task_file, run)
    with hold_folder(folder):
        kept = folder / SETTINGS_FILE
        check_kept(folder, SETTINGS_FILE, same=not kept.exists() or load_label_settings(kept) == groups)
        asking = GroupedLabelling(groups, asked)
        asking.check()
        write_label_settings(groups, kept)
        return asking.label(run.on_progress)


class GroupedLabelling(SeveralRuns):
    """Asks about a batch of queries group by group."""

    def __init__(self, groups: LabelSettings, pool: Pool) -> None:
        """Take what to ask; runs in the pool's folder are resumed."""
        usual = pool.planner.options.mechanism
        self._runs = [
            PartialRun(pool, f"{GROUP}-{number}", group.labels, group.change(usual))
            for number, group in enumerate(groups.group, start=1)
        ]
        super().__init__(pool, self._runs[0])

    def check(self) -> None:
        """Raise `plan.invalid` if a group's plan is impossible, and what the first group's check raises."""
        for part in self._runs:
            part.planner.plan(UNUSED_NONCE, None)
        super().check()

    def due(self) -> Iterator[tuple[PartialRun, Collection[int]]]:
        """Yield every run with its rows: all rows for the first run, else those that the first has
        settled."""
        yield self.first, range(self.plan.queries)
        for part in self._runs[1:]:
            yield part, self.first.answers.keys()

    def parts(self) -> list[PartialRun]:
        """Return all runs."""
        return self._runs

    def combine(self) -> Combined:
        """Return the combined answers so far."""
        return combine_groups({part.name: part.store.state for part in self._runs})


def _groups(settings: LabelSettings, task: Task, options: PlanOptions) -> LabelSettings:
    """Return the labels to ask, in groups of equal settings; raise `plan.invalid` for unsuitable settings."""
    if not task.multi_label:
        raise invalid_plan(
            f"a record of the task '{task.name}' has one class, and --label-settings is for tasks of "
            "several labels; leave it out"
        )
    settings.check(task.name, task.classes)
    asked = asked_labels(options, task) or range(len(task.classes))
    return settings.of([task.classes[label] for label in asked], options.mechanism)
