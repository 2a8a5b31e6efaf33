"""Sums over records through a real guardian: noise of every block, charges by weight, nothing lost."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ostraka.common.clock import ManualClock, SystemClock
from ostraka.common.errors import ErrorCode
from ostraka.common.identity import Role
from ostraka.common.mechanism import Moments, Statistics
from ostraka.common.plan.plan import Plan
from ostraka.common.privacy import AMOUNT_UNIT, epsilon
from ostraka.common.privacy.filters import GAUSSIAN
from ostraka.common.privacy.gaussian import gaussian_epsilon
from ostraka.guardian.admin.upkeep import back_up, restore
from ostraka.guardian.ledger import open_guardian_ledger
from ostraka.guardian.policy import DAY_S, LARGE_BATCHES, Policy, PolicyInForce, load_policy
from ostraka.guardian.serving.timers import Forgetter
from ostraka.protos.ostraka.v1 import admin_pb2, guardian_pb2_grpc
from tests.guardian.federation import RING, Federation, group, plan, receipt, refusal
from tests.guardian.training import Lead, Recording, updates

MECHANISM = Moments(columns=3, codes=2, sigma=30.0, gram_sigma=40.0)
WIDTH = 6 + 6
POLICY = 'enforce = "worst_case"\nmin_sigma = 0.5\nmin_quorum = 2\nmechanisms = ["votes", "sums"]\n'
ROUNDS = 4


class Querier(Lead):
    """Calls to a guardian in which the querying party asks for sums."""

    @property
    def query(self) -> guardian_pb2_grpc.GuardianStub:
        return self.stub("q", Role.QUERY)


@contextmanager
def asking(federation: Federation, *, noise: Recording | None = None) -> Iterator[Querier]:
    """Run a guardian, and yield it as its querying party calls it."""
    with federation.guardian(noise) as calls:
        querier = Querier(federation, calls.address)
        try:
            yield querier
        finally:
            querier.close()


def sums(**changes: Any) -> Plan:
    """Return the plan of a few rounds of sums."""
    return plan(**{"mechanism": MECHANISM, "queries": ROUNDS, "batch_size": 1} | changes)


def cost(order: float, rounds: int, influence: float = 1.0) -> float:
    """Return what rounds cost at worst, in rdp as the ledger rounds it."""
    return MECHANISM.worst_case(order, influence, classes=4).reservation(rounds, 1) * AMOUNT_UNIT


def test_every_block_gets_its_noise_and_is_charged(tmp_path: Path) -> None:
    noise, sent = Recording(), updates(parameters=WIDTH)
    federation = Federation(tmp_path, policy=POLICY)
    with asking(federation, noise=noise) as querier:
        querier.join_all("")
        session = querier.begin(sums())
        released = querier.round(session, 1, sent)
        assert [drawn.shape for drawn in noise.drawn] == [(1, 6), (1, 6)]
        codes, gram = (noise.by_sigma[draw.scale].ravel() for draw in MECHANISM.draws(1, 0))
        np.testing.assert_array_equal(released, sent.sum(axis=0) + np.hstack([codes, gram]))
        (budget,) = querier.budgets("a").values()
        assert querier.spent() == epsilon(cost(budget.order, 1), budget.order, budget.delta)
    with asking(federation) as querier:
        np.testing.assert_array_equal(querier.released(session, 1), released)


def test_a_gaussian_filter_counts_all_rounds_exactly(tmp_path: Path) -> None:
    with asking(Federation(tmp_path, policy=POLICY)) as querier:
        for site in ("a", "b", "c"):
            querier.register(site)
            querier.budget(site, 100.0, filter="gaussian")
        session = querier.begin(sums())
        for number in range(ROUNDS):
            querier.round(session, number, updates(parameters=WIDTH))
        assert refusal(lambda: querier.ticket(session, ROUNDS, 1)) == ErrorCode.BATCH_TOO_LARGE.value
        (budget,) = querier.budgets("a").values()
        assert querier.spent() == pytest.approx(gaussian_epsilon(cost(GAUSSIAN, ROUNDS), budget.delta))


def test_groups_weigh_and_pay_what_their_budgets_allow(tmp_path: Path) -> None:
    with asking(Federation(tmp_path, policy=POLICY)) as querier:
        querier.join_all("")
        querier.register("a", groups=[group("rich"), group("strict")])
        querier.budget("a", 4.0, group="rich")
        querier.budget("a", 1.0, group="strict")
        opened = querier.open(sums(variant="weighting"))
        first, second = next(one for one in opened.participants if one.site == "a").cohorts
        weights = dict(zip((first.groups[0], second.groups[0]), (first.weight, second.weight), strict=True))
        assert weights["rich"] > 2 * weights["strict"]
        querier.round(opened.session_id, 1, updates(parameters=WIDTH))
        budgets = querier.budgets("a")
        for name, weight in weights.items():
            budget = budgets[name]
            worst = cost(budget.order, 1, weight / 2**16)
            assert budget.epsilon_worst_case == epsilon(worst, budget.order, budget.delta)


def test_of_sums_whose_shares_are_large_few_tickets_are_held(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    large = sums(mechanism=Statistics(cells=2**24, columns=1, sigma=2.0))
    assert Policy().open_batches(large) == 5, "three parties' shares of 128 MiB"
    assert Policy().open_batches(sums()) == Policy().open_batches(plan()) == 64
    monkeypatch.setattr("ostraka.guardian.policy.SHARE_BYTES", 3 * 8 * WIDTH)
    with asking(Federation(tmp_path, policy=POLICY)) as querier:
        querier.join_all("")
        session = querier.begin(sums())
        for number in range(LARGE_BATCHES):
            querier.ticket(session, number, 1)
        assert refusal(lambda: querier.ticket(session, LARGE_BATCHES, 1)) == ErrorCode.POLICY_OPEN_LIMIT.value


def test_records_answer_whose_teachers_learned_without_a_guarantee(tmp_path: Path) -> None:
    with asking(Federation(tmp_path, policy=POLICY)) as querier:
        querier.join_all("ttac")
        assert refusal(lambda: querier.open(plan()), "were trained by ttac") == ErrorCode.POLICY_REFUSED.value
        querier.round(querier.begin(sums()), 1, updates(parameters=WIDTH))
        (budget,) = querier.budgets("a").values()
        assert querier.spent() == epsilon(cost(budget.order, 1), budget.order, budget.delta)
        charges = querier.admin.ListCharges(admin_pb2.ListChargesRequest())
        assert not any(row.unguaranteed for rows in charges for row in rows.rows)


def test_a_party_that_abstains_from_labels_pays_for_sums_as_others_do(tmp_path: Path) -> None:
    with asking(Federation(tmp_path, policy=POLICY)) as querier:
        querier.join_all("")
        querier.register("a", abstains=[0])
        querier.round(querier.begin(sums(multi_label=True)), 1, updates(parameters=WIDTH))
        assert querier.spent("a") == querier.spent("b") > 0


def drop_answers(federation: Federation, days: float) -> None:
    """Do what the guardian's timer does so many days from now."""
    folder = federation.guardian_folder
    credentials = federation.credentials["guardian", Role.GUARDIAN]
    later = ManualClock(time.time() + days * DAY_S)
    with open_guardian_ledger(folder, credentials, SystemClock()) as ledger:
        policies = PolicyInForce(lambda: None, load_policy(folder))
        Forgetter(ledger, policies, later).forget()


def test_a_sum_is_sent_again_and_once_dropped_refused_never_charged_or_drawn_again(tmp_path: Path) -> None:
    noise, sent = Recording(), updates(parameters=WIDTH)
    federation = Federation(tmp_path, policy=POLICY + "keep_answers_days = 1\n")
    with asking(federation) as querier:
        querier.join_all("")
        session = querier.begin(sums())
        querier.ticket(session, 1, 1)
        total = querier.trained(session, 1, sent)
        released = querier.sum(session, 1, total)
        spent = querier.spent()
    drop_answers(federation, days=0.5)
    other = RING.add(total, np.ones_like(total))
    with asking(federation, noise=noise) as querier:
        np.testing.assert_array_equal(querier.sum(session, 1, total), released)
        np.testing.assert_array_equal(querier.released(session, 1), released)
        assert refusal(lambda: querier.sum(session, 1, other)) == ErrorCode.BATCH_ALTERED.value
        assert querier.spent() == spent
    drop_answers(federation, days=1.5)
    with asking(federation, noise=noise) as querier:
        for again in (
            lambda: querier.sum(session, 1, total),
            lambda: querier.released(session, 1),
            lambda: querier.settle(session, 1),
        ):
            assert refusal(again) == ErrorCode.BATCH_FORGOTTEN.value
        assert refusal(lambda: querier.sum(session, 1, other)) == ErrorCode.BATCH_ALTERED.value
        assert querier.spent() == spent
        assert not noise.drawn
        querier.round(session, 2, sent)


@pytest.mark.heavy
def test_what_a_restored_ledger_forgot_of_sums_is_charged_from_receipts(tmp_path: Path) -> None:
    federation, backup = Federation(tmp_path, policy=POLICY), tmp_path / "backup.db"
    with asking(federation) as querier:
        querier.join_all("")
        session = querier.begin(sums())
        back_up(federation.guardian_folder, backup)
        querier.round(session, 1, updates(parameters=WIDTH))
        spent = querier.spent()
    (federation.guardian_folder / "ledger.db").unlink()
    restore(federation.guardian_folder, backup)
    with asking(federation) as querier:
        assert querier.spent() == 0
        assert querier.reconcile("a", [receipt(MECHANISM, session_id=session)]).charged == 1
        assert querier.spent() == spent
