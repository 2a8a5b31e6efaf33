"""Labels for a pool, asked by dependencies: parents first, then children that nothing implies."""

from collections.abc import Collection, Iterator
from pathlib import Path

from ostraka.client.dependencies.several_runs import PartedResult, PartialRun, Pool, SeveralRuns, check_kept
from ostraka.client.run.combined import (
    PARENTS,
    RULES_FILE,
    Combined,
    answers_of,
    combine,
    families_of,
    folder_of,
    join,
)
from ostraka.client.run.dependency_rules import Dependencies, load_dependencies, write_dependencies
from ostraka.client.run.labelling import UNWATCHED, LabellingRun
from ostraka.client.run.options import PlanOptions
from ostraka.client.run.run_folder import hold_folder
from ostraka.client.run.site import load_class_task
from ostraka.common.task import Source


def label_by_dependencies(
    site_folder: Path,
    pool: Source,
    options: PlanOptions,
    folder: Path,
    *,
    dependencies: Path,
    task_file: Path | None = None,
    run: LabellingRun = UNWATCHED,
) -> PartedResult:
    """Label the records of `pool` as `labelling.label` does, but do not ask about implied labels.

    First comes a batch about the labels that are not children. Then, for every parent, comes a batch about
    its children for the queries so far whose released answers do not imply them, and so on, level by level.
    Each of these questions is a run of its own in a sub-folder of `folder`; together they make its
    labels.csv. Calling again resumes at any point. Raises as `labelling.label`, and `config.invalid`,
    `task.mismatch` or `run.mismatch` for dependencies that are damaged, or do not belong to the task or the
    folder.
    """
    rules = load_dependencies(dependencies)
    rules.check(load_class_task("labelling", site_folder, task_file))
    asked = Pool.of(site_folder, pool, options, folder, PARENTS, task_file, run)
    with hold_folder(folder):
        _keep(rules, folder)
        asking = ConditionalLabelling(rules, asked)
        asking.check()
        return asking.label(run.on_progress)


class ConditionalLabelling(SeveralRuns):
    """Asks parents and independent labels first, and children if their parent does not imply them."""

    def __init__(self, rules: Dependencies, pool: Pool) -> None:
        """Take what to ask; runs in the pool's folder are resumed."""
        self._rules = rules
        task = pool.planner.task
        children = {rule.child for rule in rules.dependencies}
        first = tuple(name for name in task.classes if name not in children)
        super().__init__(pool, PartialRun(pool, PARENTS, first))
        self._families = families_of(rules, task.classes)
        runs = (
            PartialRun(pool, folder_of(each, task.classes), names) for each, names in rules.families.items()
        )
        self._after = dict(zip(self._families, runs, strict=True))
        self._labels = len(task.classes)

    def due(self) -> Iterator[tuple[PartialRun, Collection[int]]]:
        """Yield every run with the rows that it should ask: children if their parent does not imply them.

        So queries of a dead batch of children are asked again together with further rows.
        """
        yield self.first, range(self.plan.queries)
        for place, part in self._after.items():
            later = {other: run.answers for other, run in self._after.items()}
            yield (
                part,
                [
                    row
                    for row, given in self.first.answers.items()
                    if place in join(given, answers_of(row, later), self._families, self._labels).due
                ],
            )

    def parts(self) -> list[PartialRun]:
        """Return the existing runs: a run is created when it is first asked something."""
        return [self.first, *(part for part in self._after.values() if part.made)]

    def combine(self) -> Combined:
        """Return the combined answers so far."""
        states = {part.name: part.store.state for part in self.parts()}
        return combine(self._rules, states)


def _keep(rules: Dependencies, folder: Path) -> None:
    """Write the dependencies into a new folder; raise `run.mismatch` if it contains another kind of run."""
    kept = folder / RULES_FILE
    check_kept(folder, RULES_FILE, same=not kept.exists() or load_dependencies(kept) == rules)
    write_dependencies(rules, kept)
