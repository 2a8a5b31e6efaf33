"""Statistics from columns to figures: plan, report, ask once, and store."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from pydantic import ValidationError

from ostraka.client.describing.counted_columns import ask_counts, choose_columns, read_condition
from ostraka.client.describing.describe_options import DescribeOptions
from ostraka.client.describing.figures import ColumnFigures, count_records, read_figures
from ostraka.client.peers.guardian_peer import GuardianPeer
from ostraka.client.run.run_folder import hold_folder
from ostraka.client.run.site import connect_guardian, load_query_site, load_site_task
from ostraka.client.run.sum_planning import PlannedSums, SumAsking, SumCost, plan_sums, require_affordable
from ostraka.client.run.sum_session import SumRun, open_sums
from ostraka.client.sums.sum_store import SumStore
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.files.durable import replace_durably
from ostraka.common.files.versions import read_versioned
from ostraka.common.learning.gain import Interval
from ostraka.common.mechanism import Statistics
from ostraka.common.plan.fields import NONCE_BYTES
from ostraka.common.plan.plan import Plan
from ostraka.common.sharing import FRACTION_BITS
from ostraka.common.sums.questions import StatisticsQuestion
from ostraka.common.sums.sensitivity import move_of_statistics, move_on_lattice
from ostraka.common.task import Task
from ostraka.common.validation import FrozenModel

FILE = "describe.json"


class Description(FrozenModel):
    """The question, its cost, and its result.

    Attributes:
        version: of the file's format.
        task: the task's name.
        task_sha256: the task's digest in hex.
        options: as they were given.
        declared_records: total number of labelled records of all parties.
        sigma: of the noise on each count.
        costs: worst case, by party.
        records: number of matching records, with the noise's interval; None before there is a result.
        parties: the parties whose records were counted.
        columns: figures of each column, as JSON types.
    """

    version: Literal[1] = 1
    task: str
    task_sha256: str
    options: DescribeOptions
    declared_records: int
    sigma: float
    costs: tuple[SumCost, ...]
    records: Interval | None = None
    parties: tuple[str, ...] = ()
    columns: tuple[ColumnFigures, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """Return the description as JSON types."""
        made: dict[str, Any] = self.model_dump(mode="json", exclude={"version"})
        return made


@dataclass(frozen=True)
class DescribingRun(SumRun):
    """Settings of asking for statistics.

    Attributes:
        before: called with the question and its cost before any party is asked; may raise to cancel.
    """

    before: Callable[[Description], object] = lambda _: None


UNWATCHED = DescribingRun()
"""No callbacks, and the machine's clock and randomness."""


def describe(
    site_folder: Path,
    options: DescribeOptions,
    run_folder: Path,
    *,
    task_file: Path | None = None,
    run: DescribingRun = UNWATCHED,
) -> Description:
    """Count all parties' records by the values of columns; store the released counts in `run_folder`.

    Calling again does not ask for released counts.

    Raises:
        OstrakaError: `config.invalid` for unknown columns and values, `budget.too_small`, `policy.refused`,
            `run.mismatch` for a folder of something else, and errors after which somebody has to act.
    """
    site = load_query_site(site_folder)
    task = load_site_task(site_folder, task_file)
    columns = choose_columns(task, options.columns or ())
    question = ask_counts(columns, [read_condition(task, text) for text in options.where or ()])
    asking = SumAsking(
        task, site.parties, options.parties, options.quorum, options.variant, ballots=options.ballots
    )
    with hold_folder(run_folder):
        kept, store = find_own(run_folder, task, options)
        if kept is not None and kept.records is not None:
            return kept
        with connect_guardian(site, run.clock, run.retry) as guardian:
            if kept is None or store is None:
                kept, store = _plan(run_folder, task, options, question, asking, guardian, run)
            with open_sums(site, guardian, store, run) as session:
                noisy = session.ask(question)
                figures = read_figures(columns, noisy.blocks[0], noisy.sigmas[0])
                bins = [column.counted.width for column in columns]
                made = kept.model_copy(
                    update={
                        "records": count_records(figures, bins, noisy.sigmas[0]),
                        "parties": noisy.parties,
                        "columns": figures,
                    }
                )
                _keep(run_folder, made)
                session.close()
    return made


def _plan(
    folder: Path,
    task: Task,
    options: DescribeOptions,
    question: StatisticsQuestion,
    asking: SumAsking,
    guardian: GuardianPeer,
    run: DescribingRun,
) -> tuple[Description, SumStore]:
    """Plan the question, report its cost, and store both."""
    planned = plan_counts(question, options.epsilon, asking, guardian)
    require_affordable(planned)
    mechanism = planned.plan.mechanism
    assert isinstance(mechanism, Statistics)  # noqa: S101 - it was planned so
    described = Description(
        task=task.name,
        task_sha256=task.digest.hex(),
        options=options,
        declared_records=planned.records,
        sigma=mechanism.sigma,
        costs=planned.costs,
    )
    run.before(described)
    _keep(folder, described)
    plan = planned.plan.model_copy(update={"nonce": run.random(NONCE_BYTES)})
    return described, SumStore.create(folder, plan.serialize())


def plan_counts(
    question: StatisticsQuestion, epsilon: float, asking: SumAsking, guardian: GuardianPeer
) -> PlannedSums:
    """Return the plan of a question of counts, with its cost by the guardian."""
    cells = sum(question.widths)
    moved = move_on_lattice(move_of_statistics(len(question.columns)), cells, FRACTION_BITS)

    def make(mu: float, records: int) -> Plan:
        mechanism = Statistics(cells=cells, columns=len(question.columns), sigma=moved / mu)
        return asking.plan(mechanism, 1, bytes(NONCE_BYTES))

    return plan_sums(lambda plan: guardian.plan(plan.serialize()), make, epsilon)


def _keep(folder: Path, described: Description) -> None:
    replace_durably(folder / FILE, described.model_dump_json(indent=1).encode())


def load_description(folder: Path) -> Description | None:
    """Return the statistics in a folder, or None.

    Raises:
        OstrakaError: `data.newer` for a later version's, `run.mismatch` for a damaged file.
    """
    path = folder / FILE
    try:
        return read_versioned(path, Description)
    except FileNotFoundError:
        return None
    except (OSError, ValidationError) as exc:
        raise OstrakaError(
            ErrorCode.RUN_MISMATCH, f"{path} cannot be read: restore it, or name another --out folder."
        ) from exc


def find_own(
    folder: Path, task: Task, options: DescribeOptions
) -> tuple[Description | None, SumStore | None]:
    """Return the statistics in a folder; raise `run.mismatch` if they are from another command."""
    kept = load_description(folder)
    if kept is not None and (kept.task_sha256 != task.digest.hex() or kept.options != options):
        raise OstrakaError(
            ErrorCode.RUN_MISMATCH,
            f"{folder} holds statistics of another command: repeat that command, or name another --out "
            "folder.",
        )
    return kept, SumStore.load_own(folder, known=kept is not None)
