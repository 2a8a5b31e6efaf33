"""Runs that budgets pay for no query of are refused before anything is opened, with what would do."""

import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from ostraka.client.cli.query import app
from ostraka.client.run.run_planner import _MAX_NOISE_FACTOR, check_affordable
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.mechanism import (
    Binary,
    Check,
    Confident,
    GnMax,
    LnMax,
    Mechanism,
    NoiseCluster,
    RandRes,
    RandResLabels,
)
from ostraka.common.mechanism.arguments import mechanism_text, read_mechanism
from ostraka.common.privacy import budget_rdp
from ostraka.protos.ostraka.v1 import admin_pb2, guardian_pb2
from tests.client.run.test_planning import Site, serve
from tests.guardian.federation import Federation, plan

SIGMAS = ("sigma1", "sigma2")
LATER = ("--later-mechanism", "interactive:sigma1=9,threshold=2")
LITTLE = ("--mechanism", "confident:sigma1=1.5,sigma2=1.5,threshold=6")


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    for site in serve(Federation(tmp_path)):
        site.calls.budget("b", 4.5)
        yield site


def invoke(command: str, site: Site, *words: object) -> Result:
    out = site.folder.parent / "run"
    given = (command, "--site", site.folder, "--pool", site.pool, "--out", out, *words)
    return CliRunner().invoke(app, [str(word) for word in given])


def refused(result: Result) -> str:
    assert isinstance(result.exception, OstrakaError)
    assert result.exception.code is ErrorCode.BUDGET_TOO_SMALL
    return result.exception.message


@pytest.mark.parametrize(
    "command",
    [("label",), ("learn", "--queries", 5, *LATER)],
)
def test_nothing_is_opened_or_written_and_more_noise_is_named(
    site: Site, command: tuple[object, ...]
) -> None:
    more = (*command[1:], *LITTLE)
    message = refused(invoke(str(command[0]), site, *more))
    assert "budget of b (epsilon 4.5) pays for no query" in message
    assert not list(site.calls.admin.ListSessions(admin_pb2.ListSessionsRequest()))
    assert not list((site.folder.parent / "run").glob("*.json"))
    advice = message.split("such as ")[1].split(", leave out")[0]
    option, text = shlex.split(advice)
    enough = read_mechanism(text)
    assert (option, type(enough)) == ("--mechanism", Confident)
    asked = site.figures("--queries", 30, option, text)
    assert min(party["fits"] for party in asked["parties"]) >= 1
    less = mechanism_text(enough.model_copy(update={n: getattr(enough, n) * 0.95 for n in SIGMAS}))
    assert min(party["fits"] for party in site.figures("--queries", 30, option, less)["parties"]) == 0


def test_a_party_may_be_left_out_instead(site: Site) -> None:
    assert "leave out b with --parties" in refused(invoke("label", site, *LITTLE))
    reply = site.figures("--queries", 30, *LITTLE, "--parties", "a,c")
    assert min(party["fits"] for party in reply["parties"]) >= 1


def reply_of(rdp_left: float, *, fits: int | None = 0) -> guardian_pb2.PlanReply:
    party = guardian_pb2.PartyCost(
        site="b", order=8.0, delta=1e-5, budget_epsilon=0.5, fits=0, rdp_left=rdp_left, sensitivity=1.0
    )
    return guardian_pb2.PlanReply(parties=[party], fits=fits)


@pytest.mark.parametrize(
    "mechanism",
    [
        GnMax(sigma=1.0),
        LnMax(gamma=4.0),
        Confident(sigma1=3.0, sigma2=1.0, threshold=6.0),
        NoiseCluster(sigma=1.0),
        RandRes(epsilon=9.0),
        RandResLabels(epsilon=9.0),
        Binary(sigma=1.0, check=Check(sigma=1.0, threshold=6.0)),
    ],
    ids=str,
)
def test_the_noise_that_is_named_is_hardly_more_than_enough(mechanism: Mechanism) -> None:
    at_once = {"queries": 20, "batch_size": 20} if mechanism.by_record else {}
    notion = {"adjacency": mechanism.adjacencies[0]}
    asked = plan(mechanism=mechanism, multi_label=mechanism.multi_label, **at_once, **notion)
    with pytest.raises(OstrakaError) as error:
        check_affordable(asked, reply_of(0.05))
    assert "ask with more noise, such as --" in error.value.message


def test_a_budget_that_is_used_up_is_told() -> None:
    with pytest.raises(OstrakaError, match="Nothing is left of the budget of b"):
        check_affordable(plan(), reply_of(0.0))


def test_what_the_guardian_does_not_tell_is_left_to_it() -> None:
    check_affordable(plan(), guardian_pb2.PlanReply())
    check_affordable(plan(), reply_of(budget_rdp(10.0, 1e-5, 8.0), fits=3))


@pytest.mark.heavy
def test_used_up_parties_that_vanish_stop_nothing_while_there_is_a_quorum(tmp_path: Path) -> None:
    for site in serve(Federation(tmp_path, policy='on_exhaustion = "vanish"\n')):
        site.calls.budget("b", 4.5)
        words = ("label", "--site", site.folder, "--queries", 30, *LITTLE)
        out = ("--pool", site.pool, "--out", tmp_path / "other")
        error = CliRunner().invoke(app, [str(word) for word in (*words, *out)]).exception
        assert isinstance(error, OstrakaError)
        assert error.code is not ErrorCode.BUDGET_TOO_SMALL
        site.calls.budget("c", 4.5)
        assert "pays for no query" in refused(invoke("label", site, "--queries", 30, *LITTLE))


def test_noise_is_looked_for_up_to_a_few_thousand_times_and_no_further() -> None:
    """Of an argmax the cost falls with the square of its noise."""
    asked = plan(mechanism=GnMax(sigma=1.0))
    cost = asked.mechanism.worst_case(8.0, 1.0, classes=asked.classes).answer
    for times, found in ((_MAX_NOISE_FACTOR * 0.99, True), (_MAX_NOISE_FACTOR * 1.05, False)):
        with pytest.raises(OstrakaError) as error:
            check_affordable(asked, reply_of(cost / times**2))
        assert ("ask with more noise" in error.value.message) is found
