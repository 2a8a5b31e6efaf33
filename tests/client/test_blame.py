"""Whole runs in which somebody lies about verified ballots: who is left out, and what the audit log says."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from ostraka.client.fitting.fit_options import FitOptions
from ostraka.client.fitting.fitting import FittingRun, fit
from ostraka.common.datasets import save
from ostraka.common.verified import querier
from ostraka.common.verified.evaluation import Point
from ostraka.common.verified.layout import Layout
from ostraka.protos.ostraka.v1 import admin_pb2
from tests.client.driving import QUICK
from tests.client.personal import (
    POLICY,
    QUERIES,
    Personal,
    build,
    give_budgets,
    private_records,
    trained,
)
from tests.common.verified.ballots import CheatingProver
from tests.guardian.federation import PARTIES, Calls
from tests.waiting import until

OFTEN_S = 0.05


@pytest.fixture(scope="module")
def teachers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return trained(tmp_path_factory.mktemp("teachers"), "weighting")


@pytest.fixture
def made(tmp_path: Path, teachers: Path) -> Personal:
    return build(tmp_path, teachers)


class Stuffing(CheatingProver):
    """Moves ten votes of the first query to the first class, where party b votes."""

    def __init__(self, layouts: Sequence[Layout], counts: Any, context: bytes, *seeds: bytes) -> None:
        super().__init__(layouts, counts, context, *seeds)
        if context.endswith(b"b"):
            change: NDArray[np.int64] = np.zeros(layouts[0].writing.size, np.int64)
            change[:2] = 10, -10
            self.alter(change)


def shifting(layouts: Sequence[Layout], context: bytes, seed: bytes, point: Point) -> bytes:
    """Return the querying party's verifier shares, those of party b with another first element."""
    share = querier.message(layouts, context, seed, point)
    return bytes([share[0] ^ 1]) + share[1:] if context.endswith(b"b") else share


class Overlong(CheatingProver):
    """Adds more than all its records can, where party b adds up, with the digits that such a sum has."""

    def __init__(self, layouts: Sequence[Layout], counts: Any, context: bytes, *seeds: bytes) -> None:
        super().__init__(layouts, counts, context, *seeds)
        if context.endswith(b"b"):
            write = layouts[0].writing.write
            longer = counts[0].copy()
            longer[0, 0] = layouts[0].statement.most // 2
            self.alter(write(longer) - write(counts[0]))


@pytest.mark.heavy
@pytest.mark.parametrize(("learner", "sums"), [("moments", 1), ("gradients", 8)])
def test_a_model_is_made_without_a_party_whose_sum_is_too_long(
    tmp_path: Path, teachers: Path, monkeypatch: pytest.MonkeyPatch, learner: Any, sums: int
) -> None:
    monkeypatch.setattr("ostraka.client.learners.gradients.MANY_ROUNDS", 8)
    made = build(tmp_path, teachers, POLICY + 'mechanisms = ["votes", "sums"]\n')
    for name in PARTIES:
        save(private_records(), made.party(name) / "records.npz")
    made.tables = (
        '[training]\ndata = "records.npz"\n[policy]\nmechanisms = ["votes", "sums"]\nballots = "verified"\n'
    )
    options = FitOptions(learner=learner, epsilon=20.0, variant="weighting", ballots="verified", quorum=2)
    with made.serving(OFTEN_S) as calls:
        give_budgets(calls)
        with monkeypatch.context() as lying:
            lying.setattr("ostraka.services.voting.answers.Prover", Overlong)
            result = fit(made.site, made.pool, made.pool, options, made.run, run=FittingRun(retry=QUICK))
        assert result.state.report is not None
        assert (result.state.report.rounds, result.state.report.parties) == (sums, ("a", "c"))
        assert "not proved" in result.state.left_out["b"]
        until(lambda: bool(attested(calls)))
        assert set(attested(calls)) == {("b", "party lied")}
        spent = {site: calls.budgets(site)["high"].epsilon_worst_case for site in PARTIES}
        assert spent["b"] == 0
        assert spent["a"] == spent["c"] > 0


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("liar", "lie", "proved"),
    [
        ("ostraka.services.voting.answers.Prover", Stuffing, "party lied"),
        ("ostraka.client.peers.verification.message", shifting, "one of two lied"),
    ],
    ids=["party", "querying party"],
)
def test_the_audit_log_says_who_lied(
    made: Personal, monkeypatch: pytest.MonkeyPatch, liar: str, lie: Any, proved: str
) -> None:
    with made.serving(OFTEN_S) as calls:
        give_budgets(calls)
        with monkeypatch.context() as lying:
            lying.setattr(liar, lie)
            result = made.label()
        assert result.left_out["b"].code == "batch.ballots_refused"
        assert "not proved" in result.left_out["b"].message
        assert (result.asked, result.ballots) == (QUERIES, "verified")
        until(lambda: bool(attested(calls)))
        assert set(attested(calls)) == {("b", proved)}


def attested(calls: Calls) -> list[tuple[str, str]]:
    rows = [json.loads(row.payload) for row in calls.admin.ExportAudit(admin_pb2.ExportAuditRequest())]
    return [(row["party"], row["proved"]) for row in rows if row["kind"] == "ballots_attested"]
