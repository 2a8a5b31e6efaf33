"""`ostraka query learn` as people type it."""

import json

import pytest
from typer.testing import CliRunner, Result

from ostraka.client.cli.query import app
from ostraka.client.rounds.rounds_options import later_mechanism
from ostraka.client.run.options import PlanOptions
from ostraka.client.run.rounds_state import load_rounds, runs
from ostraka.common.console.cli import ExitStatus
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.mechanism import GnMax
from tests.client.federation import Federation
from tests.client.hooks import spending
from tests.disk import fill, free, small_disk

BLIND = ("--tally", "blind", "--later-mechanism", "confident:threshold=2")


def learn(federation: Federation, *more: object) -> Result:
    first = ("--mechanism", "confident:sigma1=10,sigma2=5,threshold=6")
    noise = (*first, "--later-mechanism", "interactive:threshold=2")
    given = ("--site", federation.site, "--pool", federation.pool, "--out", federation.root / "rounds")
    return CliRunner().invoke(app, [str(one) for one in ("learn", *given, "--queries", 4, *noise, *more)])


@pytest.mark.heavy
def test_rounds_from_the_command_line(federation: Federation) -> None:
    own = federation.root / "own.csv"
    own.write_text("first,second,label\n" + "0,0,ant\n0.5,0.5,bee\n1,1,cat\n" * 4)
    result = learn(federation, "--rounds", 2, "--labelled", own, "--test", own, "--json", "-")
    assert result.exit_code == 0
    figures = json.loads(result.stdout)
    assert [one["mechanism"] for one in figures["rounds"]] == ["confident", "interactive"]
    assert [one["answered"] for one in figures["rounds"]] == [4, 4]
    assert "2 rounds are in" in result.stderr
    page = (federation.root / "rounds" / "report.html").read_text()
    assert "worst-case epsilon so far (DP for records)" in page
    more = learn(federation, "--rounds", 9, "--labelled", own, "--test", own)
    assert "Every record of the pool was asked about." in more.stderr


@pytest.mark.heavy
def test_ctrl_c_says_how_to_go_on(federation: Federation, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("ostraka.client.peers.guardian_peer.GuardianPeer.release", interrupt)
        result = learn(federation)
    assert result.exit_code == 130
    assert "Run the same command again" in result.stderr
    assert learn(federation).exit_code == 0


@pytest.mark.heavy
def test_a_budget_that_ends_on_the_way_leaves_with_its_own_status(federation: Federation) -> None:
    federation.guardian.on_batch = spending(6)
    result = learn(federation, "--rounds", 2, "--json", "-")
    assert result.exit_code == ExitStatus.STOPPED
    assert json.loads(result.stdout)["stopped"]["code"] == "budget.too_small"


@pytest.mark.heavy
def test_what_later_rounds_lack_is_named(federation: Federation) -> None:
    given = ("--site", federation.site, "--pool", federation.pool, "--out", federation.root / "rounds")
    first = ("--queries", 4, "--mechanism", "gnmax:sigma=5")
    result = CliRunner().invoke(app, [str(one) for one in ("learn", *given, *first)])
    assert isinstance(result.exception, OstrakaError)
    assert result.exception.code is ErrorCode.PLAN_INVALID
    assert "give --later-mechanism interactive:sigma1=VALUE" in result.exception.message
    later = ("--later-mechanism", "interactive:sigma1=10,threshold=2")
    whole = CliRunner().invoke(app, [str(one) for one in ("learn", *given, *first, *later)])
    assert whole.exit_code == 0
    assert (
        load_rounds(federation.root / "rounds").settings["first mechanism"]
        == '{"kind": "gnmax", "sigma": 5.0}'
    )


@pytest.mark.heavy
def test_every_round_is_charged_to_labels_where_that_is_asked(federation: Federation) -> None:
    result = learn(federation, "--rounds", 2, "--adjacency", "label", "--json", "-")
    assert result.exit_code == 0
    folder = federation.root / "rounds"
    assert [run.parse_plan().adjacency for run in runs(folder, load_rounds(folder))] == ["label", "label"]
    assert isinstance(learn(federation, "--rounds", 3).exception, OstrakaError)


@pytest.mark.heavy
def test_a_full_disk_anywhere_in_the_rounds_is_named_and_they_go_on(federation: Federation) -> None:
    """With each further page of room they come a little further, and nothing is asked twice."""
    own = federation.root / "own.csv"
    own.write_text("first,second,label\n" + "0,0,ant\n0.5,0.5,bee\n1,1,cat\n" * 4)
    given = ("--rounds", 2, "--labelled", own, "--test", own)
    with small_disk(federation.root / "rounds", 400) as disk:
        for pages in (0, 1, 3, 6, 9):
            fill(disk, but_for=pages)
            refused = learn(federation, *given).exception
            assert isinstance(refused, OstrakaError), pages
            assert refused.code is ErrorCode.STORAGE_FULL, refused.message
            assert str(disk) in refused.message
            free(disk)
        told = learn(federation, *given, "--json", "-")
        assert told.exit_code == 0
        assert [one["answered"] for one in json.loads(told.stdout)["rounds"]] == [4, 4]
    answered = [len(answers) for answers in federation.guardian.answers.values()]
    assert sum(answered) == 8


@pytest.mark.heavy
def test_a_blind_tally_goes_on_by_the_same_mechanism(federation: Federation) -> None:
    result = learn(federation, "--rounds", 2, *BLIND, "--json", "-")
    assert result.exit_code == 0
    assert [one["mechanism"] for one in json.loads(result.stdout)["rounds"]] == ["confident", "confident"]
    folder = federation.root / "rounds"
    plans = [run.parse_plan() for run in runs(folder, load_rounds(folder))]
    assert [plan.tally for plan in plans] == ["blind", "blind"]
    assert [plan.mechanism.threshold for plan in plans] == [6, 2]  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("mechanism", "told"),
    [
        (("interactive:sigma1=1,sigma2=1,threshold=1",), "begin with confident"),
        (("noise_cluster:sigma=1",), "rounds gain nothing"),
        (("lnmax:gamma=1", "--later-mechanism", "lnmax:sigma2=1"), "there is no sigma2"),
    ],
)
def test_what_does_not_fit_rounds_is_told(
    federation: Federation, mechanism: tuple[object, ...], told: str
) -> None:
    given = ("--site", federation.site, "--pool", federation.pool, "--out", federation.root / "rounds")
    asked = ("learn", *given, "--queries", 4, "--mechanism", *mechanism)
    refused = CliRunner().invoke(app, [str(one) for one in asked]).exception
    assert isinstance(refused, OstrakaError)
    assert told in refused.message
    assert not federation.guardian.plans


def test_later_rounds_keep_the_mechanism_whose_noise_parties_draw() -> None:
    first = PlanOptions(mechanism=GnMax(sigma=4.0), noise="parties")
    assert later_mechanism(first) == first.mechanism
    with pytest.raises(OstrakaError, match="interactive needs another draw"):
        later_mechanism(first, "interactive:sigma1=9,threshold=2,confidence=0.9")
