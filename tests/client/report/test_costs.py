"""Several runs cost what their sessions cost together, and only costs of one notion add up."""

from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from ostraka.client.report import tables
from ostraka.client.report.costs import notion, party_costs
from ostraka.client.report.run_report import report
from ostraka.client.session.run_state import GrantedParty, RunState, load_state
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.mechanism import Binary
from ostraka.common.plan.plan import Plan
from ostraka.common.privacy import ORDERS, epsilon
from tests.client.driving import options, run, run_of
from tests.client.federation import Federation
from tests.client.real import Host
from tests.client.report.test_run_report import DELTA, expected


def test_sessions_add_up_order_by_order(federation: Federation) -> None:
    federation.parties["b"].dissents = True
    run(federation)
    state = load_state(run_of(federation))
    together = party_costs([state, state, state], DELTA)
    alone = party_costs([state], DELTA)[0]["epsilon_worst_case"]
    assert [party["site"] for party in together] == ["a", "b", "c"]
    for party in together:
        assert (party["asked"], party["answered"]) == (30, 21)
        assert party["epsilon_worst_case"] == pytest.approx(expected(30, 21), rel=1e-12)
        assert alone < party["epsilon_worst_case"] < 3 * alone


@pytest.mark.parametrize("either", ["real"], indirect=True)
def test_an_epsilon_is_the_one_that_the_guardian_tells(either: Federation, real_guardian: Host) -> None:
    run(either)
    calls = real_guardian.start()
    figures = report(run_of(either))
    for party in figures["parties"]:
        kept = calls.budgets(party["site"])["all"]
        assert (party["delta"], party["order"]) == (kept.delta, kept.order)
        assert party["epsilon_worst_case"] == pytest.approx(kept.epsilon_worst_case, rel=1e-6)
    assert figures["parties"][0]["epsilon_worst_case"] > 1.0
    console = Console(width=150, file=StringIO())
    with console.capture() as shown:
        tables.show(figures, console)
    assert all(told in shown.get() for told in ("renyi 3.5", "gaussian", "1e-5"))


def test_an_epsilon_says_what_it_promises(federation: Federation) -> None:
    run(federation)
    figures = report(run_of(federation))
    assert {figures["notion"], *(party["notion"] for party in figures["parties"])} == {"DP for records"}


def test_persons_are_promised_where_every_party_knows_them(federation: Federation) -> None:
    run(federation, options(queries=4))
    state = load_state(run_of(federation))
    known = [party.model_copy(update={"whole_persons": True}) for party in state.parties]
    assert notion([state.model_copy(update={"parties": tuple(known)})]) == "DP for persons"
    assert notion([state.model_copy(update={"parties": (*known[1:], state.parties[0])})]) == "DP for records"


def test_costs_of_two_notions_do_not_add_up(federation: Federation) -> None:
    run(federation, options(queries=4))
    state = load_state(run_of(federation))
    label = state.parse_plan().model_copy(update={"adjacency": "label"})
    other = state.model_copy(update={"plan": label.serialize().hex()})
    assert party_costs([other], DELTA)[0]["notion"] == "label-DP"
    with pytest.raises(OstrakaError) as refused:
        party_costs([state, other], DELTA)
    assert refused.value.code is ErrorCode.RUN_MISMATCH


def test_a_party_pays_for_the_labels_that_it_votes_on(tmp_path: Path) -> None:
    mechanism = Binary(sigma=9.0)
    plan = Plan(
        nonce=bytes(16),
        task_digest=bytes(32),
        classes=3,
        multi_label=True,
        mechanism=mechanism,
        parties=("a", "b"),
        quorum=1,
        queries=2,
        batch_size=2,
    )
    state = RunState.model_validate(
        {
            "task": "t",
            "classes": ("x", "y", "z"),
            "pool_sha256": "",
            "pool_size": 2,
            "plan": plan.serialize().hex(),
            "parties": (
                GrantedParty(site="a", teachers=5, max_votes_per_person=1),
                GrantedParty(site="b", teachers=5, max_votes_per_person=1, abstains=(0, 2)),
            ),
            "batches": (
                {
                    "id": 1,
                    "queries": (0, 1),
                    "status": "released",
                    "answers": ((1, 0, 1), (1, None, 1)),
                },
            ),
        }
    )
    whole, part = party_costs([state], DELTA)
    one = min(epsilon(mechanism.worst_case(order, classes=1).answer, order, DELTA) for order in ORDERS)
    assert part["abstains"] == ["x", "z"]
    assert (part["asked"], part["answered"]) == (2, 1)
    assert part["epsilon_worst_case"] == pytest.approx(one, rel=1e-12)
    assert whole["epsilon_worst_case"] > part["epsilon_worst_case"]
