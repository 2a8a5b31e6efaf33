import json
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest

from ostraka.client.session.meter import StepProgress
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.mechanism import Confident
from ostraka.common.privacy import epsilon
from ostraka.deploy.simulation.federation import GUARDIAN
from ostraka.deploy.simulation.processes import Start, Supervisor
from ostraka.deploy.simulation.split import Split
from ostraka.guardian.admin.confidential import totals
from ostraka.guardian.admin.verification import verify_ledger
from ostraka.guardian.ledger import LedgerReader
from ostraka.guardian.ledger.log import audit
from tests.e2e.confidential import HEADS, ask, placed
from tests.e2e.sites import QUIET, Sites

FIRST, *OTHERS = HEADS.sites
AGREED = Confident(sigma1=QUIET, sigma2=QUIET, threshold=3.5)
BOTH = {"encoding": "ckks", "tally": "blind"}


@pytest.fixture
def sites(tmp_path: Path, heads: Path, split: Split, start: Start) -> Iterator[Sites]:
    with Supervisor(tmp_path / "logs", {"OMP_NUM_THREADS": "1"}, start=start) as processes:
        found = placed(tmp_path / "sites", heads, split, processes)
        found.start()
        yield found


def test_a_party_killed_in_an_encrypted_batch_is_left_out_and_pays_for_its_evaluation(
    sites: Sites,
) -> None:
    killed: list[str] = []

    def kill(progress: StepProgress) -> None:
        if (progress.step, progress.done) == ("evaluate", 1) and not killed:
            killed.append(FIRST)
            sites.kill(FIRST)

    session = ask(sites, AGREED, "run", on_step=kill, **BOTH)
    assert killed
    assert session.result.asked == HEADS.records.queries
    assert session.result.left_out[FIRST].code == ErrorCode.SERVER_UNREACHABLE
    assert {batch.parties for batch in session.batches} == {tuple(OTHERS)}
    require_charged(sites, OTHERS, checks=HEADS.records.queries, answers=session.result.answered)
    evaluated = [batch for batch, party in evaluations(sites) if party == FIRST]
    assert len(evaluated) <= 1
    worst = len(evaluated) * HEADS.plan.batch_size
    require_charged(sites, [FIRST], checks=worst, answers=worst)


def test_a_guardian_killed_between_check_and_answers_charges_evaluations_at_worst(
    sites: Sites,
) -> None:
    address = sites.guardian_address
    killed: list[str] = []

    def kill(progress: StepProgress) -> None:
        if (progress.step, progress.done) == ("tally", 1) and not killed:
            killed.append(GUARDIAN)
            sites.kill(GUARDIAN)

    with pytest.raises(OstrakaError) as caught:
        ask(sites, AGREED, "run", on_step=kill, **BOTH)
    assert caught.value.code == ErrorCode.SERVER_UNREACHABLE
    assert killed

    sites.restart(GUARDIAN, "guardian", address)
    require_charged(sites, HEADS.sites, checks=HEADS.plan.batch_size, answers=HEADS.plan.batch_size)
    session = ask(sites, AGREED, "run", **BOTH)
    assert session.result.asked == HEADS.records.queries
    assert [batch.status for batch in session.batches] == ["lost", "released", "released"]
    checks = HEADS.records.queries + HEADS.plan.batch_size
    answers = session.result.answered + HEADS.plan.batch_size
    require_charged(sites, HEADS.sites, checks=checks, answers=answers)


def evaluations(sites: Sites) -> list[tuple[int, str]]:
    """Every batch that a party said it answers, with the party, as the audit log has it."""
    with LedgerReader.open_read_only(sites.folder / GUARDIAN / "ledger.db") as ledger:
        rows = [json.loads(row.payload) for row in audit.audit_rows(ledger)]
    return [(row["batch"], row["party"]) for row in rows if row["kind"] == "batch_evaluated"]


def require_charged(sites: Sites, parties: Sequence[str], *, checks: int, answers: int) -> None:
    """Each of these parties paid for so many checks and answers, and the audit log says so too."""
    guardian = sites.folder / GUARDIAN
    units = {unit["party"]: unit for unit in totals(guardian)}
    for unit in (units[party] for party in parties):
        answered = np.arange(checks)[:, None] < answers
        rdp = AGREED.worst_case(unit["order"], classes=10).rdp(answered)
        expected = epsilon(rdp, unit["order"], unit["delta"])
        assert unit["epsilon_worst_case"] == pytest.approx(expected, rel=1e-6)
    assert verify_ledger(guardian / "ledger.db", guardian / "ca.crt", [])
