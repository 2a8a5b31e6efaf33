"""An epsilon is published with noise, signed, charged to everybody whose votes it tells of, and only once."""

import os
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from google.protobuf.json_format import MessageToDict

from ostraka.common.clock import SystemClock
from ostraka.common.identity import Role, verify_signed
from ostraka.common.mechanism import LnMax
from ostraka.common.privacy import AMOUNT_UNIT, epsilon
from ostraka.common.wire.contexts import PUBLICATION_CONTEXT
from ostraka.guardian.accounting.smooth_noise import SmoothNoise
from ostraka.guardian.admin.confidential import totals
from ostraka.guardian.admin.exports import rows_of
from ostraka.guardian.admin.verification import verify_ledger
from ostraka.guardian.ledger.transaction import Transaction
from ostraka.guardian.ledger.units import publications
from ostraka.guardian.ledger.units.publications import OutdatedError, Publication
from ostraka.protos.ostraka.v1 import admin_pb2
from tests.guardian.admin.support import UNIT, budget, refused
from tests.guardian.federation import FEDERATION, PARTIES, Calls, Federation, group
from tests.guardian.publishing import compute_here, federation_of, release


def asked(**changes: Any) -> admin_pb2.PublishEpsilonRequest:
    return admin_pb2.PublishEpsilonRequest(**UNIT | {"reason": "the annual report"} | changes)


@pytest.fixture(autouse=True)
def in_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Figures are computed in this process."""
    compute_here(monkeypatch)


@pytest.fixture
def federation(tmp_path: Path) -> Federation:
    """Two batches were released, and what their votes cost is kept."""
    made = federation_of(tmp_path)
    with made.guardian() as guardian:
        guardian.prepare_all(epsilon=100.0)
        release(guardian, 1)
        release(guardian, 2)
    return made


def spent(guardian: Calls) -> dict[str, float]:
    return {site: budget(guardian, site).epsilon_worst_case for site in PARTIES}


def test_it_is_published_signed_and_charged_to_everybody_once(federation: Federation) -> None:
    with federation.guardian() as guardian:
        before = spent(guardian)
        reply = guardian.admin.PublishEpsilon(asked())
        after = spent(guardian)
        again = guardian.admin.PublishEpsilon(asked(reason="nobody told me"))
        other = guardian.admin.PublishEpsilon(asked(party="b"))
        assert spent(guardian) == after
        order, delta = budget(guardian).order, budget(guardian).delta
    assert (reply.again, again.again, other.again) == (False, True, True)
    assert reply.statement == again.statement == other.statement
    found = reply.published
    verify_signed(
        reply.statement,
        PUBLICATION_CONTEXT,
        ca_pem=(federation.guardian_folder / "ca.crt").read_bytes(),
        clock=SystemClock(),
        federation=FEDERATION,
        role=Role.GUARDIAN,
    )
    assert admin_pb2.PublishedEpsilon.FromString(reply.statement.payload) == found
    noise = SmoothNoise.by_order(order)
    assert (found.beta, found.sigma, found.batches) == (noise.beta, noise.sigma, 2)
    cost = noise.cost(order) * AMOUNT_UNIT
    assert {(unit.party, unit.own, unit.rdp) for unit in found.units} == {
        (site, True, cost) for site in PARTIES
    }
    assert len(set(after.values())) == 1
    assert after["a"] > before["a"]
    assert found.epsilon_worst_case == pytest.approx(after["a"])
    assert epsilon(cost, order, delta) <= found.epsilon <= found.epsilon_worst_case


def test_what_was_spent_since_is_published_anew_and_charged_again(federation: Federation) -> None:
    with federation.guardian() as guardian:
        first = guardian.admin.PublishEpsilon(asked())
        release(guardian, 3)
        assert guardian.admin.PublishEpsilon(asked()).again is False
    with federation.guardian() as guardian:
        charged = spent(guardian)
        second = guardian.admin.PublishEpsilon(asked())
        assert second.published.batches == 3
        assert second.published.state != first.published.state
        assert spent(guardian)["a"] > charged["a"]
        assert second.published.epsilon_worst_case == pytest.approx(spent(guardian)["a"])


def test_it_is_in_the_log_the_history_and_the_charges_and_the_ledger_adds_up(federation: Federation) -> None:
    with federation.guardian() as guardian:
        guardian.admin.PublishEpsilon(asked())
        rows = [row.payload for row in guardian.admin.ExportAudit(admin_pb2.ExportAuditRequest())]
        charges = list(rows_of(guardian.admin.ListCharges(admin_pb2.ListChargesRequest(party="b"))))
        history = list(rows_of(guardian.admin.BudgetHistory(admin_pb2.BudgetHistoryRequest(**UNIT))))
        worst = spent(guardian)["b"]
    assert sum('"kind":"epsilon_published"' in row and "the annual report" in row for row in rows) == 1
    assert (history[-1].kind, history[-1].reason) == ("published", "the annual report")
    assert "smooth sensitivity" in charges[-1].mechanism
    assert charges[-1].epsilon_worst_case == pytest.approx(worst)
    verified = verify_ledger(
        federation.guardian_folder / "ledger.db", federation.guardian_folder / "ca.crt", []
    )
    assert verified
    assert totals(federation.guardian_folder)[1]["epsilon_worst_case"] == pytest.approx(worst)


def test_what_costs_more_than_the_worst_case_of_all_that_was_spent_is_refused(federation: Federation) -> None:
    """The worst case says less and may be told for nothing; prices and worst cases are public."""
    with federation.guardian() as guardian:
        before = spent(guardian)
        error = refused(lambda: guardian.admin.PublishEpsilon(asked(sigma=0.1)))
        assert spent(guardian) == before
    assert error.code == "policy.refused"
    assert "at worst, which may be told for nothing" in error.message


@pytest.mark.parametrize("bound", ["worst_case", "exact"])
def test_where_nothing_was_kept_it_says_what_to_set(tmp_path: Path, bound: str) -> None:
    federation = federation_of(tmp_path, bound)
    with federation.guardian() as guardian:
        guardian.prepare_all(epsilon=100.0)
        release(guardian, 1)
    with federation.guardian() as guardian:
        before = spent(guardian)
        error = refused(lambda: guardian.admin.PublishEpsilon(asked()))
        assert error.code == "budget.nothing_kept"
        assert "bound = 'theorem6'" in error.message
        assert spent(guardian) == before


@pytest.mark.heavy
def test_noise_without_a_proof_counts_at_worst(federation: Federation) -> None:
    with federation.guardian() as guardian:
        # So wide that shifted sums could wrap around in the narrowest ring.
        release(guardian, 1, LnMax(gamma=0.001))
    with federation.guardian() as guardian:
        found = guardian.admin.PublishEpsilon(asked()).published
        assert found.batches == 2
        assert found.epsilon_worst_case == pytest.approx(spent(guardian)["a"])


def test_a_budget_without_room_refuses_and_nobody_is_charged(federation: Federation) -> None:
    with federation.guardian() as guardian:
        least = spent(guardian)["c"]
        guardian.admin.SetBudget(
            admin_pb2.SetBudgetRequest(party="c", group="all", adjacency="record", epsilon=least + 1e-3)
        )
        before = spent(guardian)
        error = refused(lambda: guardian.admin.PublishEpsilon(asked()))
        assert error.code == "budget.too_small"
        assert "c/all" in error.message
        assert spent(guardian) == before
        assert guardian.admin.PublishEpsilon(asked(beta=1e-6, sigma=1e4)).again is False


def test_nothing_more_is_released_of_who_withdrew(federation: Federation) -> None:
    with federation.guardian() as guardian:
        unit = {"party": "b", "group": "all", "adjacency": "record"}
        guardian.admin.WithdrawConsent(admin_pb2.WithdrawConsentRequest(**unit, reason="they ask"))
        before = spent(guardian)
        error = refused(lambda: guardian.admin.PublishEpsilon(asked()))
        assert error.code == "policy.refused"
        assert "b/all" in error.message
        assert spent(guardian) == before


def test_what_makes_no_sense_is_refused(federation: Federation) -> None:
    nonsense: list[tuple[dict[str, Any], str]] = [
        ({"beta": 10.0}, "order"),
        ({"sigma": float("nan")}, "finite"),
        ({"sigma": -1.0}, "finite"),
        ({"sigma": 1e300}, "smaller sigma"),
        ({"reason": ""}, "reason"),
        ({"adjacency": "person"}, "adjacency"),
    ]
    with federation.guardian() as guardian:
        for changes, told in nonsense:
            error = refused(partial(guardian.admin.PublishEpsilon, asked(**changes)))
            assert error.code == "message.invalid"
            assert told in error.message


def test_the_noise_is_as_wide_as_said_and_drawn_once(federation: Federation) -> None:
    noise = Wide()
    with federation.guardian(noise) as guardian:
        found = guardian.admin.PublishEpsilon(asked())
        guardian.admin.PublishEpsilon(asked())
    *dropped, scale = noise.scales
    assert scale not in dropped
    assert found.published.epsilon == found.published.epsilon_worst_case
    assert "noise" not in MessageToDict(found)


class Wide:
    """Draws more than every total, and notes the scales."""

    def __init__(self) -> None:
        self.scales: list[float] = []

    def gaussian(self, sigma: float, shape: tuple[int, ...]) -> Any:
        import numpy as np

        self.scales.append(sigma)
        return np.full(shape, 2**60, dtype=np.int64)

    def laplace(self, scale: float, shape: tuple[int, ...]) -> Any:
        return self.gaussian(scale, shape)

    def uniform(self, shape: tuple[int, ...]) -> Any:
        raise AssertionError(os.getpid())


def test_a_unit_of_another_order_pays_at_its_own_and_has_a_total_of_its_own(tmp_path: Path) -> None:
    federation = federation_of(tmp_path)
    with federation.guardian() as guardian:
        guardian.admin.SetBudget(
            admin_pb2.SetBudgetRequest(party="b", group="all", adjacency="record", epsilon=100.0, order=4.0)
        )
        for site in ("a", "c"):
            guardian.budget(site, 100.0)
        for site in PARTIES:
            guardian.register(site)
        release(guardian, 1)
    with federation.guardian() as guardian:
        found = guardian.admin.PublishEpsilon(asked()).published
        other = guardian.admin.PublishEpsilon(asked(party="b"))
    assert {unit.party: unit.own for unit in found.units} == {"a": True, "b": False, "c": True}
    orders = {unit.party: unit.order for unit in found.units}
    assert orders["b"] == 4.0 != orders["a"]
    noise = SmoothNoise.by_order(max(orders.values()))
    assert {unit.party: unit.rdp for unit in found.units} == {
        site: noise.cost(order) * AMOUNT_UNIT for site, order in orders.items()
    }
    assert other.again is False
    assert other.published.order == 4.0


def test_more_votes_of_a_person_than_it_was_made_for_break_what_its_units_promise(
    federation: Federation,
) -> None:
    with federation.guardian() as guardian:
        guardian.admin.PublishEpsilon(asked())
        guardian.register("a", max_votes_per_person=2)
        assert {site: bool(budget(guardian, site).broken_unix_s) for site in PARTIES} == {
            "a": True,
            "b": False,
            "c": False,
        }


def test_nobody_publishes_votes_of_a_person_that_has_more(federation: Federation) -> None:
    with federation.guardian() as guardian:
        guardian.register("a", max_votes_per_person=2)
        before = spent(guardian)
        assert refused(lambda: guardian.admin.PublishEpsilon(asked(party="b"))).code == "budget.nothing_kept"
        assert spent(guardian) == before


def test_votes_that_were_counted_already_take_nothing_away(tmp_path: Path) -> None:
    """The party declared fewer since, and now again as many as its tickets say."""
    federation = federation_of(tmp_path)
    with federation.guardian() as guardian:
        guardian.prepare_all(epsilon=300.0)
        guardian.register("a", max_votes_per_person=3)
        release(guardian, 1)
        for votes in (1, 3):
            guardian.register("a", max_votes_per_person=votes)
    with federation.guardian() as guardian:
        guardian.admin.PublishEpsilon(asked(party="b"))
        for votes in (1, 3):
            guardian.register("a", max_votes_per_person=votes)
        assert not budget(guardian, "a").broken_unix_s
        guardian.register("a", max_votes_per_person=4)
        assert budget(guardian, "a").broken_unix_s


def test_records_that_moved_pay_where_they_are_now(federation: Federation) -> None:
    with federation.guardian() as guardian:
        guardian.register("a", groups=[group("low"), group("high")])
        for name in ("low", "high"):
            guardian.budget("a", 100.0, group=name)
        guardian.budget("b", 100.0, adjacency="label")
        found = guardian.admin.PublishEpsilon(asked(party="c")).published
        paid = {(unit.party, unit.group, unit.adjacency) for unit in found.units}
        assert len({found.epsilon_worst_case for found in guardian.budgets("a").values()}) == 1
    assert paid == {
        *(("a", name, "record") for name in ("all", "low", "high")),
        ("b", "all", "record"),
        ("b", "all", "label"),
        ("c", "all", "record"),
    }


@pytest.mark.parametrize(("times", "code"), [(1, ""), (100, "ledger.locked")])
def test_what_changed_before_it_was_charged_is_drawn_again(
    federation: Federation, monkeypatch: pytest.MonkeyPatch, times: int, code: str
) -> None:
    publish, left = publications.publish, iter(range(times))

    def overtaken(tx: Transaction, made: Publication) -> bytes:
        if next(left, None) is not None:
            raise OutdatedError
        return publish(tx, made)

    monkeypatch.setattr(publications, "publish", overtaken)
    with federation.guardian() as guardian:
        before = spent(guardian)
        if code:
            assert refused(lambda: guardian.admin.PublishEpsilon(asked())).code == code
            assert spent(guardian) == before
        else:
            assert guardian.admin.PublishEpsilon(asked()).again is False
            assert len(set(spent(guardian).values())) == 1
            assert spent(guardian)["a"] > before["a"]


def test_nothing_is_published_that_a_gaussian_filter_would_pay_for(federation: Federation) -> None:
    """Its unit took over what the votes cost: nobody knows what more a statement of them costs there."""
    with federation.guardian() as guardian:
        guardian.budget("b", 100.0, group="new", filter="gaussian")
        guardian.register("b", groups=[group("new")])
        before = spent_by_all(guardian)
        error = refused(lambda: guardian.admin.PublishEpsilon(asked()))
        assert (error.code, "Gaussian filter" in error.message) == ("policy.refused", True)
        assert spent_by_all(guardian) == before


def spent_by_all(guardian: Calls) -> list[float]:
    found = guardian.admin.ListBudgets(admin_pb2.ListBudgetsRequest())
    return [one.epsilon_worst_case for one in found]
