"""Batches in the memory of a replica whose sessions another one took over."""

import random
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from ostraka.common.clock import ManualClock
from ostraka.common.identity import Role
from ostraka.guardian.ledger import BudgetTerms, Ledger, UnitKey, registrations
from ostraka.guardian.ledger.units import budgets
from ostraka.guardian.policy import Policy
from ostraka.guardian.sessions import Coordinator
from tests.chaos.guardians import CIPHER
from tests.chaos.members import DELTA, GROUPS, ORDER, START, CheapNoise, FixedPolicy, members, plan
from tests.guardian.ledger.support import SEAL, sign
from tests.signed_lists import grant_of

HOUR_S = 3601
"""Longer than any lease, and than any ticket lives."""
QUERIER = members().credentials["q", Role.QUERY].identity


@contextmanager
def replica(where: str, clock: ManualClock, address: str) -> Iterator[tuple[Ledger, Coordinator]]:
    """Open a guardian's ledger and coordinator, without its server."""
    ledger = Ledger.open(where, clock=clock, cipher=CIPHER, sign_head=sign, seal=SEAL, address=address)
    noise: Any = CheapNoise(0)
    figures: Any = None
    try:
        yield (
            ledger,
            Coordinator(ledger, members().guardian, FixedPolicy(Policy()), clock, noise, figures),
        )
    finally:
        ledger.close()


def begun(ledger: Ledger, coordinator: Coordinator) -> None:
    """Begin a session with a ticketed batch, of parties that registered and have budgets."""
    for site, signed in members().manifests.items():
        ledger.write(registrations.register, site, signed.payload, signed.SerializeToString())
        for group in GROUPS[site]:
            ledger.write(
                budgets.set_budget,
                UnitKey(site, group, "record"),
                BudgetTerms(100.0, DELTA, ORDER, "worst_case"),
            )
    asked = plan(random.Random(1), "none", 2, 4)  # noqa: S311
    session = grant_of(coordinator.open_session(QUERIER, asked.serialize())).session_id
    coordinator.open_batch(QUERIER, session, 1, 4, [])


def test_a_batch_that_another_replica_took_over_ends_here_without_an_error(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other one enters after this one has looked whether it is still current."""
    clock = ManualClock(START)
    with replica(postgres_url, clock, "a:1") as (ledger, first):
        begun(ledger, first)
        assert first.under_way == 1
        clock.advance(HOUR_S)
        with replica(postgres_url, clock, "b:2"):
            monkeypatch.setattr("ostraka.guardian.ledger.replicas.require_current", lambda *_: None)
            first.expire()
        assert first.under_way == 0
