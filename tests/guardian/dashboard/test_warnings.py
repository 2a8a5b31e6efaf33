"""What the overview asks an administrator to look at, and what it must not show."""

from pathlib import Path

import pytest

from ostraka.common.clock import ManualClock, SystemClock
from ostraka.common.identity import Role
from ostraka.common.wire.contexts import AUDIT_CONTEXT
from ostraka.guardian.admin.confidential import totals
from ostraka.guardian.admin.texts import spending_text
from ostraka.guardian.dashboard.overview_views import warnings
from ostraka.protos.ostraka.v1 import admin_pb2, common_pb2
from tests.guardian.admin.support import label
from tests.guardian.dashboard.browsing import admin_folder, browsing
from tests.guardian.federation import Federation

DAY_S = 86400.0


@pytest.fixture
def federation(tmp_path: Path) -> Federation:
    return Federation(tmp_path, policy='enforce = "data_dependent"\nbound = "exact"\nmin_sigma = 0.5\n')


def told(federation: Federation, *budgets: admin_pb2.Budget, days: float = 0, **info: object) -> list[str]:
    credentials = federation.credentials["ops", Role.ADMIN]
    party = admin_pb2.PartyInfo(site="a", **info)  # type: ignore[arg-type]
    guardian = federation.credentials["guardian", Role.GUARDIAN]
    head = common_pb2.AuditHead(signed=guardian.sign(AUDIT_CONTEXT, b""))
    return warnings(credentials, head, ManualClock(SystemClock().now() + days * DAY_S), [party], budgets)


def budget(**fields: object) -> admin_pb2.Budget:
    known = {"party": "a", "group": "all", "adjacency": "record", "epsilon": 10.0, "enforce": "worst_case"}
    return admin_pb2.Budget(**{**known, **fields})  # type: ignore[arg-type]


def test_nothing_is_said_where_all_is_well(federation: Federation) -> None:
    assert told(federation, budget(), state="active", groups=[common_pb2.Group(name="all")]) == []


def test_a_certificate_that_ends_soon(federation: Federation) -> None:
    own, guardians = told(federation, days=340)
    assert "ostraka://test/ops/admin expires in 24 days" in own
    assert "ostraka://test/guardian/guardian expires in 24 days" in guardians


def test_parties_without_receipts_guarantee_or_budget(federation: Federation) -> None:
    groups = [common_pb2.Group(name="all"), common_pb2.Group(name="more")]
    said = told(federation, budget(), state="unreconciled", together="ttac", groups=groups)
    for sentence, words in zip(
        said, ("has not sent its receipts", "by ttac", "no budget for more"), strict=True
    ):
        assert words in sentence


def test_budgets_that_are_broken_or_nearly_spent(federation: Federation) -> None:
    said = told(federation, budget(broken_unix_s=1, unguaranteed=True, epsilon_worst_case=9.5))
    for sentence, words in zip(
        said,
        (
            "no longer covers its lifetime since 1970-01-01",
            "No epsilon covers",
            "has 0.5 of its epsilon of 10 left",
        ),
        strict=True,
    ):
        assert words in sentence
        assert "a/all (DP for records)" in sentence


@pytest.mark.heavy
def test_nothing_that_depends_on_votes_is_shown(federation: Federation) -> None:
    with federation.guardian() as guardian:
        guardian.prepare_all(epsilon=200.0)
        session = label(guardian)
        folder = admin_folder(federation, guardian)
        with browsing(folder) as browser:
            paths = ("/", "/party/a", "/sessions", f"/session/{session}", "/policy", "/audit")
            pages = {path: browser.text(path) for path in paths}
            files = [
                browser.text(f"/downloads/{name}") for name in ("charges.csv", "audit.jsonl", "report.html")
            ]
        (spent, *_) = totals(federation.guardian_folder)
    assert "depends on votes, not shown" in pages["/"]
    assert "depends on votes, not shown" in pages["/party/a"]
    assert "percent spent" not in pages["/"]
    assert spent["epsilon_data_dependent"] != spent["epsilon_worst_case"]
    for text in (*pages.values(), *files):
        assert f"{spent['epsilon_data_dependent']:.4f}" not in text
        assert spending_text(spent["epsilon_data_dependent"]) not in text
        assert f"{spent['epsilon_budget'] - spent['epsilon_worst_case']:.4f}" not in text
