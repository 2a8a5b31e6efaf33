"""Runs with budgets that differ, from the plan to every party's charge, over real sockets."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from ostraka.client.report.run_report import report
from ostraka.client.session.run_state import load_state
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.privacy import AMOUNT_UNIT, epsilon
from ostraka.guardian.cli import app as guardian_app
from ostraka.services.journal.limits import GroupCharge
from ostraka.services.teachers.config import Variant
from tests.client.personal import (
    BATCH,
    EPSILONS,
    GROUPS,
    MECHANISM,
    POLICY,
    QUERIES,
    Personal,
    build,
    give_budgets,
    trained,
)
from tests.guardian.federation import PARTIES, Calls

Folders = Callable[[Variant], Path]


@pytest.fixture(scope="session")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Folders:
    made: dict[str, Path] = {}

    def of(variant: Variant) -> Path:
        if variant not in made:
            made[variant] = trained(tmp_path_factory.mktemp(variant), variant)
        return made[variant]

    return of


@pytest.fixture
def apart(tmp_path: Path, folders: Folders) -> Personal:
    """Parties whose teachers know one level each."""
    return build(tmp_path, folders("weighting"))


def charged(calls: Calls, site: str, group: str, queries: int, sensitivity: float) -> tuple[float, float]:
    """Return what the guardian charged a group in epsilon, and the cost of `queries` at its order."""
    budget = calls.budgets(site)[group]
    amount = GroupCharge(MECHANISM, queries, 10, sensitivity).amount(budget.order)
    return budget.epsilon_worst_case, epsilon(amount * AMOUNT_UNIT, budget.order, budget.delta)


def asked_of(apart: Personal, site: str, place: int) -> int:
    """On how many queries a party's cohort voted, by the tickets that the run kept."""
    total = 0
    for batch in load_state(apart.run).batches:
        bits = bytes.fromhex(batch.schedule[site][place])
        votes = np.unpackbits(np.frombuffer(bits, np.uint8), count=len(batch.queries)) if bits else None
        total += len(batch.queries) if votes is None else int(votes.sum())
    return total


@pytest.mark.heavy
def test_weighted_votes_are_released_and_charged_by_their_weight(apart: Personal) -> None:
    with apart.serving() as calls:
        give_budgets(calls)
        result = apart.label(variant="weighting")
        assert (result.answered, result.stopped) == (QUERIES, None)
        (party, *_) = load_state(apart.run).parties
        weights = {group: cohort.weight for cohort in party.cohorts for group in cohort.groups}
        assert weights["high"] + weights["low"] == pytest.approx(2, rel=1e-4)
        assert weights["high"] / weights["low"] == pytest.approx(2.36, rel=0.02)
        for site in PARTIES:
            for group, weight in weights.items():
                found, expected = charged(calls, site, group, QUERIES, weight)
                assert found == pytest.approx(expected, rel=1e-9)
            with apart.journal(site) as journal:
                assert journal.amount_spent(8.0) == 3 * GroupCharge(
                    MECHANISM, BATCH, 10, weights["high"]
                ).amount(8.0)
    figures = report(apart.run)
    assert figures["variant"] == "weighting"
    for entry in figures["parties"]:
        assert (entry["group"], entry["asked"]) == ("high", QUERIES)
        costs = {group["group"]: group["epsilon_worst_case"] for group in entry["groups"]}
        assert costs["low"] < costs["high"] == entry["epsilon_worst_case"]


@pytest.mark.heavy
def test_cohorts_that_vanish_vote_on_fewer_queries_and_pay_for_these_alone(apart: Personal) -> None:
    with apart.serving() as calls:
        give_budgets(calls)
        result = apart.label(variant="vanishing")
        assert (result.asked, result.stopped) == (QUERIES, None)
        entries = {entry["site"]: entry for entry in report(apart.run)["parties"]}
        for site in PARTIES:
            counts = {group: asked_of(apart, site, place) for place, group in enumerate(GROUPS)}
            assert 0 < counts["low"] < counts["high"] == QUERIES
            for group, count in counts.items():
                found, expected = charged(calls, site, group, count, 1.0)
                assert found == pytest.approx(expected, rel=1e-9)
            with apart.journal(site) as journal:
                for group in GROUPS:
                    own = [charge.queries for _, _, charge in journal.receipts() if charge.group == group]
                    assert sum(own) == counts[group]
            assert {group["group"]: group["asked"] for group in entries[site]["groups"]} == counts


@pytest.mark.heavy
@pytest.mark.parametrize("variant", ["vanishing", "upsampling"])
def test_an_aligned_run_keeps_its_plan_when_it_goes_on(
    tmp_path: Path, folders: Folders, variant: Variant
) -> None:
    made = build(tmp_path, folders("upsampling" if variant == "upsampling" else "weighting"))
    options: dict[str, Any] = {"align": True, "variant": "none" if variant == "upsampling" else variant}
    with made.serving() as calls:
        give_budgets(calls)
        made.label(**options)
        state = load_state(made.run)
        assert state.scale is not None
        assert (state.scale > 1) is (variant == "upsampling")
        assert state.parse_plan().mechanism == MECHANISM.model_copy(
            update={"sigma": MECHANISM.sigma * state.scale}
        )
        give_budgets(calls, dict.fromkeys(EPSILONS, 5.0))
        assert made.label(**options).asked == QUERIES
        with pytest.raises(OstrakaError) as refused:
            made.label(**options | {"align": False})
        assert refused.value.code is ErrorCode.RUN_MISMATCH


@pytest.mark.heavy
def test_an_upsampled_record_costs_its_copies_in_the_report_too(tmp_path: Path, folders: Folders) -> None:
    made = build(tmp_path, folders("upsampling"))
    with made.serving() as calls:
        give_budgets(calls)
        made.label()
        for site, entry in zip(PARTIES, report(made.run)["parties"], strict=True):
            costs = {group["group"]: group["epsilon_worst_case"] for group in entry["groups"]}
            assert costs["high"] > costs["low"]
            for group, copies in (("high", 2.0), ("low", 1.0)):
                found, expected = charged(calls, site, group, QUERIES, copies)
                assert found == pytest.approx(expected, rel=1e-9)


@pytest.mark.heavy
def test_a_session_goes_on_without_those_whose_budgets_are_used_up(tmp_path: Path, folders: Folders) -> None:
    made = build(tmp_path, folders("weighting"), POLICY + 'on_exhaustion = "vanish"\n')
    with made.serving() as calls:
        give_budgets(calls, {"high": 2.0, "low": 1.0})
        result = made.label(mechanism=MECHANISM.model_copy(update={"sigma": 10.0}))
    state = load_state(made.run)
    first, *_, last = [batch for batch in state.batches if batch.status == "released"]
    assert all(bits == "" for cohorts in first.schedule.values() for bits in cohorts)
    for high, low in last.schedule.values():
        assert high == ""
        assert not any(bytes.fromhex(low))
        assert low
    assert result.stopped is not None
    assert result.stopped.code == "budget.too_small"
    assert 0 < result.asked < QUERIES


@pytest.mark.heavy
def test_a_restored_guardian_is_owed_what_it_forgot_and_goes_on(apart: Personal) -> None:
    folder, saved = apart.members.guardian_folder, apart.members.root / "saved.db"
    with apart.serving() as calls:
        give_budgets(calls)
        ledger("backup", "--site", folder, "--out", saved)
        apart.label(variant="weighting")
        spent = {site: calls.budgets(site) for site in PARTIES}
    for path in folder.glob("ledger.db*"):
        path.unlink()
    ledger("restore", "--site", folder, "--from", saved)
    with apart.serving() as calls:
        for site in PARTIES:
            for group, budget in calls.budgets(site).items():
                assert budget.epsilon_worst_case == pytest.approx(
                    spent[site][group].epsilon_worst_case, rel=1e-9
                )
            with apart.journal(site) as journal:
                assert journal.epoch() == 1


def ledger(*words: object) -> None:
    result = CliRunner().invoke(guardian_app, ["ledger", *map(str, words)])
    assert result.exit_code == 0, result.output or result.exception
