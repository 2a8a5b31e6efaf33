from collections.abc import Collection

import numpy as np
import pytest

from ostraka.client.run.labelling import LabelResult
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.privacy import epsilon
from ostraka.deploy.simulation.federation import GUARDIAN
from ostraka.guardian.admin.confidential import totals
from ostraka.guardian.admin.verification import verify_ledger
from tests.e2e.sites import SETTINGS, Sites


def test_a_killed_guardian_loses_no_answer_and_charges_once(sites: Sites) -> None:
    sites.start()
    address = sites.guardian_address

    def kill(result: LabelResult) -> None:
        if result.asked == SETTINGS.plan.batch_size:
            sites.kill(GUARDIAN)

    with pytest.raises(OstrakaError) as caught:
        sites.label(on_progress=kill)
    assert caught.value.code == ErrorCode.SERVER_UNREACHABLE
    before = sites.state.answers()
    assert len(before) == SETTINGS.plan.batch_size

    sites.restart(GUARDIAN, "guardian", address)
    result = sites.label()
    assert result.answered == SETTINGS.records.queries
    assert before.items() <= sites.state.answers().items()
    require_charged_once(sites)


def require_charged_once(sites: Sites, parties: Collection[str] = SETTINGS.sites) -> None:
    """Every unit of these parties was charged for each query exactly once, and the audit log says so too."""
    guardian = sites.folder / GUARDIAN
    for unit in totals(guardian):
        if unit["party"] not in parties:
            assert unit["epsilon_worst_case"] == 0
            continue
        cost = SETTINGS.plan_mechanism.worst_case(unit["order"], classes=10)
        rdp = cost.rdp(np.ones((SETTINGS.records.queries, 1), dtype=np.bool_))
        expected = epsilon(rdp, unit["order"], unit["delta"])
        assert unit["epsilon_worst_case"] == pytest.approx(expected, rel=1e-9)
    assert verify_ledger(guardian / "ledger.db", guardian / "ca.crt", [])
