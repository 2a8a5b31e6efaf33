"""A report holds worst-case figures only, and they are the figures that the bound gives."""

import json
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from ostraka.client.report import tables
from ostraka.client.report.run_report import report
from ostraka.client.session.run_state import RunStore, load_state
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.privacy import ORDERS, epsilon
from ostraka.common.privacy.argmax import argmax_rdp
from ostraka.common.privacy.two_outcomes import two_outcomes_rdp
from ostraka.common.sharing import FRACTION_BITS
from tests.client.driving import options, run, run_of
from tests.client.federation import Federation

SIGMA1, SIGMA2, DELTA = 10.0, 5.0, 1e-5
CLASSES = 3


def expected(asked: int, answered: int, votes: int = 1) -> float:
    costs = (
        asked * check(order, votes) + answered * argmax_rdp(order, votes, SIGMA2, CLASSES) for order in ORDERS
    )
    return min(epsilon(cost, order, DELTA) for cost, order in zip(costs, ORDERS, strict=True))


def check(order: float, votes: int) -> float:
    return two_outcomes_rdp(order, votes / SIGMA1, lattice=1 / SIGMA1 / 2**FRACTION_BITS)


def test_every_query_costs_its_check_and_every_answer_its_argmax(federation: Federation) -> None:
    federation.parties["b"].dissents = True
    run(federation)
    figures = report(run_of(federation))
    assert (figures["asked"], figures["answered"], figures["abstained"]) == (10, 7, 3)
    assert (figures["enforce"], figures["bound"], figures["delta"]) == ("worst_case", "worst_case", None)
    for party in figures["parties"]:
        assert (party["asked"], party["answered"], party["teachers"]) == (10, 7, 4)
        assert party["epsilon_worst_case"] == pytest.approx(expected(10, 7), rel=1e-12)
        assert party["order"] in ORDERS
        assert party["delta"] == DELTA


def test_a_party_pays_for_the_batches_it_took_part_in(federation: Federation) -> None:
    federation.parties["c"].submits = False
    run(federation)
    costs = {party["site"]: party["epsilon_worst_case"] for party in report(run_of(federation))["parties"]}
    assert costs["a"] == pytest.approx(expected(10, 10), rel=1e-12)
    assert costs["c"] == 0


@pytest.mark.heavy
def test_a_persons_votes_count_by_their_square(federation: Federation) -> None:
    run(federation)
    state = load_state(run_of(federation))
    parties = [party.model_copy(update={"max_votes_per_person": 3}) for party in state.parties]
    RunStore(run_of(federation), state).record_grant(state.session_id, parties, state.enforce, state.bound)
    party = report(run_of(federation))["parties"][0]
    assert party["epsilon_worst_case"] == pytest.approx(expected(10, 10, votes=3), rel=1e-12)


def test_what_an_interruption_hid_is_counted_at_its_largest(federation: Federation) -> None:
    run(federation, options(queries=8))
    store = RunStore(run_of(federation), load_state(run_of(federation)))
    last = store.state.batches[-1]
    store.record_death(last)
    assert report(run_of(federation))["parties"][0]["asked"] == 4
    store.begin(last.queries)
    figures = report(run_of(federation))
    assert figures["unsettled_batches"] == 1
    assert figures["parties"][0]["epsilon_worst_case"] == pytest.approx(expected(8, 8), rel=1e-12)


def test_a_run_that_asked_nothing_cost_nothing(federation: Federation) -> None:
    for name in ("a", "b"):
        federation.stop(name)
    with pytest.raises(OstrakaError):
        run(federation)
    assert [party["epsilon_worst_case"] for party in report(run_of(federation))["parties"]] == [0.0] * 3


@pytest.mark.parametrize("delta", [0.0, 1.0, float("nan")])
def test_a_delta_that_is_none_is_refused(federation: Federation, delta: float) -> None:
    with pytest.raises(OstrakaError, match="not between 0 and 1") as refused:
        report(run_of(federation), delta=delta)
    assert refused.value.code is ErrorCode.CONFIG_INVALID


def test_a_folder_without_a_run_is_named(tmp_path: Path) -> None:
    with pytest.raises(OstrakaError) as refused:
        report(tmp_path)
    assert refused.value.code is ErrorCode.DATA_MISSING


@pytest.mark.parametrize("half", [False, True])
def test_a_damaged_student_file_is_told(federation: Federation, half: bool) -> None:
    run(federation)
    told = json.dumps({"pool_sha256": load_state(run_of(federation)).pool_sha256}) if half else "{"
    (run_of(federation) / "student.json").write_text(told)
    with pytest.raises(OstrakaError) as refused:
        report(run_of(federation))
    assert refused.value.code is ErrorCode.RUN_MISMATCH


def test_people_read_which_epsilon_it_is(federation: Federation) -> None:
    run(federation)
    console = Console(width=100, file=StringIO())
    with console.capture() as shown:
        tables.show(report(run_of(federation)), console)
    text = " ".join(shown.get().split())
    assert "10 of 10 queries asked, 10 answered, 0 abstained" in text
    assert "worst-case epsilon" in text
    assert "for this run alone" in text
