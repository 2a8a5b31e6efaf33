"""Checks that the ledger's charges for sessions match what they released."""

import numpy as np
import pytest

from ostraka.client.session.run_state import RunState
from ostraka.common.mechanism import GnMax
from ostraka.deploy.compose.setup import HOSPITALS
from tests.compose.project import Project, docker

NOISE = GnMax(sigma=100.0)
"""So much noise that sessions cost little: only single charging matters here, not the answers."""
CLASSES = 10


def balances(project: Project) -> dict[str, dict[str, float]]:
    """Return every hospital's budget."""
    return {budget["party"]: budget for budget in project.admin("budget", "show")["budgets"]}


def require_charged_once(project: Project, state: RunState, before: dict[str, dict[str, float]]) -> None:
    """Check that every query was answered once, and each hospital charged once per batch it voted on."""
    released = {batch.id: batch for batch in state.batches if batch.status == "released"}
    asked = sorted(query for batch in released.values() for query in batch.queries)
    assert asked == list(range(state.parse_plan().queries))
    after = balances(project)
    for hospital in HOSPITALS:
        charged = charged_batches(project, hospital, state.session_id)
        known = {number for number, batch in released.items() if hospital in batch.parties}
        unknown = {number for number, batch in released.items() if not batch.parties}
        assert len(charged) == len(set(charged))
        assert known <= set(charged) <= known | unknown
        queries = sum(len(released[number].queries) for number in charged)
        cost = NOISE.worst_case(after[hospital]["order"], classes=CLASSES).rdp(
            np.ones((queries, 1), dtype=np.bool_)
        )
        paid = after[hospital]["epsilon_worst_case"] - before[hospital]["epsilon_worst_case"]
        assert paid == pytest.approx(cost, rel=1e-6)
        assert after[hospital]["epsilon_reserved"] == before[hospital]["epsilon_reserved"]


def charged_batches(project: Project, hospital: str, session: str) -> list[int]:
    """Return the batches of a session that a hospital was charged for, each as often as it was."""
    events = project.admin("budget", "history", "--party", hospital)["events"]
    return [event["batch_id"] for event in events if event["session_id"] == session]


def require_intact(project: Project) -> None:
    """Check that the audit log is consistent, also with the heads that hospitals kept of it."""
    guardian = project.container("guardian")
    heads_kept = [f"/tmp/{hospital}.pb" for hospital in HOSPITALS]  # noqa: S108
    for hospital, head in zip(HOSPITALS, heads_kept, strict=True):
        keep = f"ostraka party audit-head --site /site --out {head} >&2 && base64 {head}"
        encoded = docker("exec", project.container(hospital), "sh", "-ec", keep)
        docker("exec", guardian, "sh", "-ec", f"echo '{encoded}' | base64 --decode > {head}")
    heads = [option for head in heads_kept for option in ("--head", head)]
    said = docker("exec", guardian, "ostraka", "guardian", "audit", "verify", "--site", "/site", *heads)
    assert "3 kept heads found" in said
