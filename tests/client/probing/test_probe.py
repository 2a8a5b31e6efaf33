"""`ostraka query probe` over real sockets: one of three parties takes every bee for a cat."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ostraka.client.probing.probe import PROBE_FILE, ProbeResult, probe
from ostraka.client.run.labelling import LabellingRun
from ostraka.client.run.planning import PlanResult
from ostraka.common.console.cli import ExitStatus
from ostraka.common.errors import ErrorCode, OstrakaError
from tests.client.cli.test_query import invoke, refused
from tests.client.driving import MECHANISM, QUICK, options
from tests.client.federation import Federation
from tests.client.hooks import spending

QUERIES = 6
GROUPS = 3


@pytest.fixture
def own(tmp_path: Path) -> Path:
    path = tmp_path / "own.csv"
    rows = [f"0.5,{row / 100},bee\n" for row in range(GROUPS * QUERIES)]
    path.write_text("first,second,label\n" + "".join(rows))
    return path


def run(federation: Federation, own: Path, **more: Any) -> ProbeResult:
    asked = options(queries=QUERIES, quorum=None)
    how = LabellingRun(retry=replace(QUICK, sleep=federation.sleep))
    return probe(federation.site, own, asked, federation.root / "probe", run=how, **more)


def test_the_party_that_votes_badly_is_named(either: Federation, own: Path) -> None:
    *_, last = either.parties
    either.parties[last].dissents = True
    told: list[PlanResult] = []
    result = run(either, own, on_cost=told.append)
    assert {party.site: party.verdict for party in result.parties} == {
        site: "low" if site == last else "none" for site in either.parties
    }
    for group in result.groups:
        expected = (QUERIES, 0, 0) if last in group.parties else (QUERIES, QUERIES, QUERIES)
        assert (group.asked, group.answered, group.agreed) == expected
    assert told[0].plan.queries == 2 * QUERIES
    assert (told[0].plan.mechanism, told[0].plan.parties) == (MECHANISM, tuple(sorted(either.parties)))


def test_each_group_is_a_session_about_records_of_its_own(federation: Federation, own: Path) -> None:
    run(federation, own)
    plans = [plan for _, plan, _ in federation.guardian.plans.values()]
    assert sorted(plan.parties for plan in plans) == [("a", "b"), ("a", "c"), ("b", "c")]
    assert {plan.quorum for plan in plans} == {2}
    rows = json.loads((federation.root / "probe" / PROBE_FILE).read_text())["rows"]
    assert sorted(row for group in rows for row in group) == list(range(GROUPS * QUERIES))


def test_no_two_groups_are_asked_about_equal_records(federation: Federation, own: Path) -> None:
    lines = own.read_text().splitlines(keepends=True)
    own.write_text("".join([*lines, *lines[1:]]))
    run(federation, own)
    rows = json.loads((federation.root / "probe" / PROBE_FILE).read_text())["rows"]
    assert sorted(row for group in rows for row in group) == list(range(GROUPS * QUERIES))
    own.write_text("".join([*lines[:-1], lines[-2]]))
    with pytest.raises(OstrakaError, match="17 of the 18 records differ") as refused:
        probe(federation.site, own, options(queries=QUERIES, quorum=None), federation.root / "other")
    assert refused.value.code is ErrorCode.DATA_TOO_FEW


def test_an_interrupted_probe_goes_on_with_what_it_drew(federation: Federation, own: Path) -> None:
    def stop(done: int, total: int) -> None:
        if done == 1:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(federation, own, on_group=stop)
    drawn = (federation.root / "probe" / PROBE_FILE).read_text()
    told: list[PlanResult] = []
    result = run(federation, own, on_cost=told.append)
    assert all(group.agreed == QUERIES for group in result.groups)
    assert (federation.root / "probe" / PROBE_FILE).read_text() == drawn
    assert (len(federation.guardian.plans), told) == (GROUPS, [])


def test_another_probe_takes_another_folder(federation: Federation, own: Path) -> None:
    run(federation, own)
    own.write_text(own.read_text().replace("0.5,0.0,", "0.5,0.9,"))
    with pytest.raises(OstrakaError) as refusal:
        run(federation, own)
    assert refusal.value.code is ErrorCode.RUN_MISMATCH


def test_nothing_is_asked_where_budgets_do_not_pay_for_all_groups(federation: Federation, own: Path) -> None:
    federation.guardian.fits = lambda plan: 2 * QUERIES - 1
    with pytest.raises(OstrakaError) as refusal:
        run(federation, own)
    assert refusal.value.code is ErrorCode.BUDGET_TOO_SMALL
    assert not federation.guardian.plans


def test_as_people_type_it(federation: Federation, own: Path, tmp_path: Path) -> None:
    federation.parties["c"].dissents = True
    words = ("probe", "--site", federation.site, "--labelled", own, "--out", tmp_path / "probe")
    noise = ("--mechanism", "gnmax:sigma=1")
    result = invoke(*words, "--queries", QUERIES, *noise, "--json", "-")
    assert result.exit_code == 0, result.output
    figures = json.loads(result.stdout)
    assert [party["verdict"] for party in figures["parties"]] == ["none", "none", "low"]
    assert "Groups with c agree less with your labels" in result.stderr


def test_a_limit_that_ends_a_session_ends_the_probe_and_says_so(
    federation: Federation, own: Path, tmp_path: Path
) -> None:
    federation.guardian.on_batch = spending(QUERIES)
    words = ("probe", "--site", federation.site, "--labelled", own, "--out", tmp_path / "probe")
    result = invoke(*words, "--queries", QUERIES, "--mechanism", "gnmax:sigma=1", "--json", "-")
    assert result.exit_code == ExitStatus.STOPPED
    figures = json.loads(result.stdout)
    assert figures["stopped"]["code"] == ErrorCode.BUDGET_TOO_SMALL
    assert [group["asked"] for group in figures["groups"]] == [QUERIES, 0, 0]
    assert {party["verdict"] for party in figures["parties"]} == {"none"}


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("--queries", 7), ErrorCode.DATA_TOO_FEW),
        (("--queries", 1, "--group-size", 3), ErrorCode.PLAN_INVALID),
        (("--queries", 1, "--quorum", 2), ErrorCode.PLAN_INVALID),
        (("--queries", 1, "--mechanism", "interactive:confidence=0.9"), ErrorCode.PLAN_INVALID),
    ],
)
def test_what_cannot_be_probed(
    federation: Federation, own: Path, tmp_path: Path, words: tuple[object, ...], code: ErrorCode
) -> None:
    noise = ("--mechanism", "confident:sigma1=10,sigma2=5,threshold=6")
    asked = ("--site", federation.site, "--labelled", own, "--out", tmp_path / "probe")
    result = invoke("probe", *asked, *noise, *words)
    assert refused(result).code is code
    assert not (tmp_path / "probe").exists()
