"""Report of one run: queries, answers and worst-case costs; only released labels depend on votes."""

from pathlib import Path
from typing import Any

from ostraka.client.report.rounds_report import report as of_rounds
from ostraka.client.report.run_figures import run_figures
from ostraka.client.run.rounds_state import is_rounds
from ostraka.common.errors import ErrorCode, OstrakaError

DELTA = 1e-5


def report(run: Path, *, delta: float = DELTA) -> dict[str, Any]:
    """Return a run's figures in JSON's types.

    `parties` has, for each, what this run's releases cost one of its records, or one record's label, at worst
    and by which `notion` of privacy: epsilon at `delta` and the order it is least at, for each of its groups
    and for the one that it is largest for; `asked` counts the queries that the group's teachers voted on,
    `answered` those with any answer. A batch whose outcome or party set an interruption has hidden is counted
    as answered whole by every party; one that a blind tally charged and whose answers were lost, `lost`
    queries in all, as it was charged. `labels` has what each label of a multi-label task got, `classes` how
    often each class of another was the answer, `asked_labels` which labels were chosen where not all are
    asked about, and `unguaranteed` names the parties whose teachers learned by ttac: no figure here says what
    their records cost. Of rounds, or of runs that dependencies part, it tells what they come to.

    Raises `data.missing` or `run.mismatch` where there is no run, and `config.invalid` for a delta outside
    (0, 1).
    """
    if not 0 < delta < 1:
        raise OstrakaError(ErrorCode.CONFIG_INVALID, f"delta {delta} is not between 0 and 1: give 1e-5.")
    if is_rounds(run):
        return of_rounds(run, delta=delta)
    return run_figures(run, delta)
