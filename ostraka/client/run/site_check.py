"""Check of a querying site's records against its task."""

from dataclasses import dataclass
from pathlib import Path

from ostraka.client.run.site import load_query_site, load_site_task
from ostraka.common.task import Source


@dataclass(frozen=True)
class CheckResult:
    """Records that fit: their number, and that of those labelled (all or none)."""

    task: str
    records: int
    labelled: int


def check(site_folder: Path, data: Source, *, task_file: Path | None = None) -> CheckResult:
    """Compare records with the site's task.

    Raises `task.mismatch` or `data.*` naming the column, class or range that is off.
    """
    load_query_site(site_folder)
    task = load_site_task(site_folder, task_file)
    records = task.records(data)
    return CheckResult(task.name, len(records), 0 if records.y is None else len(records))
