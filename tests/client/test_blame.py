"""Whole runs in which somebody lies about verified ballots: who is left out, and what the audit log says."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from ostraka.common.verified import querier
from ostraka.common.verified.evaluation import Point
from ostraka.common.verified.layout import Layout
from ostraka.protos.ostraka.v1 import admin_pb2
from tests.client.personal import QUERIES, Personal, build, give_budgets, trained
from tests.common.verified.ballots import CheatingProver
from tests.guardian.federation import Calls
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
        assert "unproved" in result.left_out["b"].message
        assert (result.asked, result.ballots) == (QUERIES, "verified")
        until(lambda: bool(attested(calls)))
        assert set(attested(calls)) == {("b", proved)}


def attested(calls: Calls) -> list[tuple[str, str]]:
    rows = [json.loads(row.payload) for row in calls.admin.ExportAudit(admin_pb2.ExportAuditRequest())]
    return [(row["party"], row["proved"]) for row in rows if row["kind"] == "ballots_attested"]
