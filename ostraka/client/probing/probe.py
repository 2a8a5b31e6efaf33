"""Own labelled records, asked of small groups of parties: sessions in sub-folders of one folder.

Every record is asked of a single group. A guardian that tallied a query over two sets of parties could
subtract one histogram from the other (docs/threat-labels.md).
"""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from random import SystemRandom
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import ValidationError

from ostraka.client.probing.findings import GroupFinding, PartyFinding, party_findings
from ostraka.client.run import planning
from ostraka.client.run.labelling import UNWATCHED, LabellingRun, label
from ostraka.client.run.options import PlanOptions
from ostraka.client.run.planning import PlanResult
from ostraka.client.run.pool import find_copies, first_records, pool_digest
from ostraka.client.run.run_folder import hold_folder
from ostraka.client.run.site import load_class_task, load_query_site
from ostraka.client.session.run_state import STATE_FILE, Stop, load_state
from ostraka.common.datasets import Dataset
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.files.durable import write_atomic
from ostraka.common.files.versions import read_versioned
from ostraka.common.mechanism import invalid_plan
from ostraka.common.task import Source, Task
from ostraka.common.validation import FrozenModel


def circle(parties: int, size: int) -> NDArray[np.bool_]:
    """Return which parties are in which group, bool (parties, parties): each with the next ones on a circle.

    With `size` one less than the number of parties, each group leaves out one party.
    """
    places = np.arange(parties)
    after = (places[None, :] - places[:, None]) % parties
    found: NDArray[np.bool_] = after < size
    return found


PROBE_FILE = "probe.json"


class ProbeState(FrozenModel):
    """Everything in probe.json.

    Attributes:
        task_digest: digest of the task, in hex.
        labelled_sha256: digest of the records' features, in hex.
        parties: the parties, in the order of the circle.
        size: number of parties in a group.
        rows: for each group, the rows of the labelled records that it is asked.
    """

    version: Literal[1] = 1
    task_digest: str
    labelled_sha256: str
    parties: tuple[str, ...]
    size: int
    rows: tuple[tuple[int, ...], ...]

    @property
    def members(self) -> NDArray[np.bool_]:
        """Which parties are in which group, bool (groups, parties)."""
        return circle(len(self.parties), self.size)

    @property
    def groups(self) -> tuple[tuple[str, ...], ...]:
        """The names of each group's parties, sorted."""
        return tuple(tuple(sorted(np.array(self.parties)[group].tolist())) for group in self.members)

    def same(self, other: "ProbeState") -> bool:
        """Whether both ask the same number of records of the same parties; random choices may differ."""
        return self._question() == other._question()

    def _question(self) -> tuple[object, ...]:
        parties = sorted(self.parties)
        sizes = [len(rows) for rows in self.rows]
        return self.task_digest, self.labelled_sha256, parties, self.size, sizes


def open_probe(folder: Path, drawn: ProbeState) -> ProbeState:
    """Return the probe in `folder`, or save the one that was `drawn`.

    Raises:
        OstrakaError: `data.newer` for a later version's, `run.mismatch` for a folder whose probe is damaged,
            or has other records, parties or sizes.
    """
    path = folder / PROBE_FILE
    if not path.exists():
        write_atomic(path, drawn.model_dump_json(indent=1))
        return drawn
    try:
        kept = read_versioned(path, ProbeState)
    except (OSError, ValidationError) as exc:
        raise OstrakaError(
            ErrorCode.RUN_MISMATCH, f"{path} cannot be read: restore it, or probe in a new folder."
        ) from exc
    if not kept.same(drawn):
        raise OstrakaError(
            ErrorCode.RUN_MISMATCH,
            f"{folder} holds a probe of other records, parties, queries or group size: repeat its options to "
            "resume it, or name another --out folder.",
        )
    return kept


@dataclass(frozen=True)
class ProbeResult:
    """The state of a probe.

    Attributes:
        folder: with a sub-folder for each group's run.
        queries: number of records that each group is asked.
        groups: the answers of each group.
        parties: the findings for each party, by name.
        stopped: the public limit that ended it early, else None.
    """

    folder: Path
    queries: int
    groups: tuple[GroupFinding, ...]
    parties: tuple[PartyFinding, ...]
    stopped: Stop | None


def probe(
    site_folder: Path,
    labelled: Source,
    options: PlanOptions,
    folder: Path,
    *,
    group_size: int = 2,
    task_file: Path | None = None,
    on_cost: Callable[[PlanResult], None] = lambda _: None,
    on_group: Callable[[int, int], None] = lambda done, total: None,
    run: LabellingRun = UNWATCHED,
) -> ProbeResult:
    """Ask every group of `group_size` neighbours on a random circle `options.queries` records of its own.

    Every party is in `group_size` groups. Each group is a session that is released with all its parties or
    not at all. Everything is stored in `folder`, one run per group; calling again resumes. `on_cost` is
    called first, with the cost of all sessions together for each party, and `on_group` with the number of
    groups done.

    Raises:
        OstrakaError: `plan.invalid` for a multi-label task, a mechanism that does not answer single records
            from votes alone, or groups as large as all parties; `data.missing` for records without labels,
            `data.too_few` for fewer than all groups need; `budget.too_small` if budgets do not pay for all
            sessions; `run.mismatch` for a folder of another probe; and the errors of `label`.
    """
    site = load_query_site(site_folder)
    task = load_class_task("probing", site_folder, task_file)
    data = task.records(labelled)
    known = data.labels()
    parties = sorted(site.parties if options.parties is None else set(options.parties))
    _check(options, task, len(parties), group_size)
    drawn = _draw(data, task, parties, group_size, options.queries or 0)
    with hold_folder(folder):
        state = open_probe(folder, drawn)
        # Only before the first session: afterwards, its charge would make budgets look too small for the
        # rest.
        if not (_run_folder(folder, 0) / STATE_FILE).exists():
            cost = _cost(site_folder, options, state, task_file, run)
            on_cost(cost)
            _check_paid(cost)
        stopped = None
        for number, (group, rows) in enumerate(zip(state.groups, state.rows, strict=True)):
            on_group(number, len(state.groups))
            asked = options.model_copy(update={"parties": group, "quorum": len(group)})
            result = label(
                site_folder,
                data.take(np.array(rows)),
                asked,
                _run_folder(folder, number),
                task_file=task_file,
                run=run,
            )
            stopped = result.stopped
            if stopped is not None:
                break
        on_group(len(state.groups), len(state.groups))
        findings = tuple(_finding(folder, state, number, known) for number in range(len(state.groups)))
    found = party_findings(findings, state.parties, state.members)
    return ProbeResult(folder, len(state.rows[0]), findings, found, stopped)


def _check(options: PlanOptions, task: Task, parties: int, size: int) -> None:
    """Raise `plan.invalid` if a probe is impossible."""
    mechanism = options.mechanism
    if task.multi_label or mechanism.by_record or mechanism.takes_scores:
        raise invalid_plan("a probe compares single classes that votes decide; choose gnmax or confident")
    if options.quorum is not None:
        raise invalid_plan("a group is released with all of its parties or not at all; leave out --quorum")
    if not options.queries:
        raise invalid_plan("the number of records that each group is asked about is missing; give --queries")
    if not 2 <= size < parties:
        raise invalid_plan(
            f"groups of {size} among {parties} parties cannot be compared; a group takes 2 parties or more, "
            "and leaves one out at least"
        )


def _draw(data: Dataset, task: Task, parties: list[str], size: int, queries: int) -> ProbeState:
    """Draw a circle of parties, and records for each group; raise `data.too_few` if there are too few."""
    needed = len(parties) * queries
    features = task.prepare(data.X)
    # Of equal records only one is drawn: two groups must not be asked the same, and the copy of an answer
    # says nothing new about a group.
    distinct = first_records(find_copies(features), len(features)).tolist()
    if len(distinct) < needed:
        raise OstrakaError(
            ErrorCode.DATA_TOO_FEW,
            f"{len(parties)} groups are asked {queries} records each, none twice, and {len(distinct)} of the "
            f"{len(data)} records differ: bring {needed} labelled records that do, or lower --queries.",
        )
    random = SystemRandom()
    rows = random.sample(distinct, needed)
    return ProbeState(
        task_digest=task.digest.hex(),
        labelled_sha256=pool_digest(features),
        parties=tuple(random.sample(parties, len(parties))),
        size=size,
        rows=tuple(tuple(rows[start : start + queries]) for start in range(0, needed, queries)),
    )


def _cost(
    site_folder: Path,
    options: PlanOptions,
    state: ProbeState,
    task_file: Path | None,
    run: LabellingRun,
) -> PlanResult:
    """Ask the guardian for a party's cost of all sessions: that of one session with all its groups'
    records."""
    queries = state.size * len(state.rows[0])
    whole = options.model_copy(update={"queries": queries, "quorum": state.size})
    return planning.plan(site_folder, None, whole, task_file=task_file, retry=run.retry, clock=run.clock)


def _check_paid(cost: PlanResult) -> None:
    """Raise `budget.too_small`, before any party is asked, if budgets do not pay for all sessions."""
    needed = cost.plan.queries
    fits = cost.reply.fits
    if cost.reply.HasField("fits") and fits < needed:
        raise OstrakaError(
            ErrorCode.BUDGET_TOO_SMALL,
            f"All groups of a party ask {needed} records, and what is left of budgets pays for {fits}: lower "
            "--queries, ask with more noise, or leave out parties with --parties.",
            fits=str(fits),
        )


def _run_folder(folder: Path, number: int) -> Path:
    return folder / f"session-{number + 1}"


def _finding(folder: Path, state: ProbeState, number: int, known: NDArray[np.int64]) -> GroupFinding:
    """Compare a group's answers so far with the known labels."""
    run = _run_folder(folder, number)
    answers = load_state(run).answers() if (run / STATE_FILE).exists() else {}
    rows = state.rows[number]
    return GroupFinding(
        parties=state.groups[number],
        asked=len(answers),
        answered=sum(answer is not None for answer in answers.values()),
        agreed=sum(answer == int(known[rows[query]]) for query, answer in answers.items()),
    )


def as_json(result: ProbeResult) -> dict[str, Any]:
    """Return the result as JSON types."""
    return {
        "folder": str(result.folder),
        "queries": result.queries,
        "groups": [asdict(group) | {"interval": group.interval} for group in result.groups],
        "parties": [asdict(party) for party in result.parties],
        "stopped": result.stopped.model_dump() if result.stopped else None,
    }
