"""`ostraka query plan --search` against a real guardian on loopback."""

import shlex
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from ostraka.client.cli.query import app
from ostraka.common.datasets import from_arrays
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.protos.ostraka.v1 import admin_pb2
from tests.client import real
from tests.client.conftest import serving
from tests.client.run.test_planning import QUERIES, Site, serve
from tests.guardian.federation import TEACHERS, Federation

ASSUMED = ("--search", "--teacher-accuracy", 0.9)


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    yield from serve(Federation(tmp_path))


@pytest.mark.heavy
def test_what_is_found_fits_what_is_left_and_opens_nothing(site: Site, tmp_path: Path) -> None:
    plot = tmp_path / "plan.svg"
    found = site.figures("--pool", site.pool, *ASSUMED, "--plot", plot)
    assert found["fits"] >= 1
    assert (found["queries"], found["teachers"], found["classes"]) == (QUERIES, 3 * TEACHERS, 3)
    assert found["enforce"] == found["bound"] == "worst_case"
    spent = [point["epsilon"] for point in found["frontier"]]
    assert spent == sorted(spent)
    assert spent[-1] == pytest.approx(10.0)
    assert "gnmax" in plot.read_text()
    assert not list(site.calls.admin.ListSessions(admin_pb2.ListSessionsRequest()))
    assert site.calls.spent() == 0


@pytest.mark.heavy
def test_people_read_what_to_run(site: Site) -> None:
    result = site.plan("--queries", 20, "--parties", "a,b", "--mechanism", "gnmax", *ASSUMED)
    assert result.exit_code == 0, result.output
    text = " ".join(result.stdout.split())
    assert "--queries 20 --mechanism gnmax" in text
    assert "confident" not in text
    assert "--parties a,b" in text
    assert "20 teachers, votes assumed" in text


@pytest.mark.heavy
def test_a_mechanism_that_the_policy_refuses_is_not_searched(tmp_path: Path) -> None:
    federation = Federation(tmp_path, policy='mechanisms = ["gnmax"]\n')
    for site in serve(federation):
        found = site.figures("--queries", 20, *ASSUMED)
        assert [one["mechanism"]["kind"] for one in found["mechanisms"]] == ["gnmax"]


@pytest.mark.heavy
def test_public_votes_are_searched(site: Site, tmp_path: Path) -> None:
    votes = tmp_path / "votes.npy"
    counts = np.random.default_rng(0).multinomial(3 * TEACHERS, [0.8, 0.1, 0.1], size=50)
    counts[::2] = counts[::2, ::-1]
    np.save(votes, counts)
    found = site.figures("--pool", site.pool, "--search", "--votes", votes)
    assert found["votes"] == f"of {votes}"


@pytest.mark.heavy
def test_own_records_find_from_which_votes_on_a_rare_class_is_said(tmp_path: Path) -> None:
    random = np.random.default_rng(3)
    X = random.normal(size=(150, 2))
    y = (X[:, 0] + random.normal(scale=0.6, size=150) > 1.6).astype(np.int64)
    own = from_arrays(X, y, columns=("first", "second"), classes=("no", "yes"))
    for site in serve(Federation(tmp_path), own):
        asked = ("--queries", 20, "--search", "--labelled", site.pool)
        found = site.figures(*asked)
        assert found["rare"]
        assert "own records" in found["votes"]
        mechanism = found["mechanisms"][0]["mechanism"]
        assert mechanism["kind"] == "threshold"
        assert 0 < mechanism["share"] < 0.5
        # No circuit is built for a threshold: the other kinds are searched still.
        blind = site.figures("--queries", 20, *ASSUMED, "--tally", "blind")
        assert {one["mechanism"]["kind"] for one in blind["mechanisms"]} == {"gnmax", "confident"}


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        (ASSUMED, ErrorCode.CONFIG_INVALID, "give --pool or --queries"),
        (("--queries", 30, "--search"), ErrorCode.CONFIG_INVALID, "--teacher-accuracy"),
        (
            ("--queries", 30, *ASSUMED, "--mechanism", "gnmax:sigma=4"),
            ErrorCode.CONFIG_INVALID,
            "without it",
        ),
        (("--queries", 30, *ASSUMED, "--mechanism", "lnmax"), ErrorCode.PLAN_INVALID, "choose from gnmax"),
        (("--queries", 30, "--votes", "v.npy"), ErrorCode.CONFIG_INVALID, "works only with --search"),
        (
            ("--queries", 30, "--labelled", "o.npz"),
            ErrorCode.CONFIG_INVALID,
            "--labelled works only with --search",
        ),
        (("--queries", 30, *ASSUMED, "--labelled", "o.npz"), ErrorCode.CONFIG_INVALID, "Stand-ins vote"),
        (("--queries", 30, *ASSUMED, "--plot", "p.pdf"), ErrorCode.CONFIG_INVALID, "not a picture"),
        (("--queries", 30, *ASSUMED, "--quorum", 1), ErrorCode.POLICY_REFUSED, "quorum"),
    ],
)
def test_what_cannot_be_searched_is_refused(
    site: Site, words: tuple[object, ...], code: ErrorCode, told: str
) -> None:
    error = site.plan(*words).exception
    assert isinstance(error, OstrakaError)
    assert (error.code, told in error.message) == (code, True), error.message


def test_noise_is_not_searched_and_aligned(site: Site, tmp_path: Path) -> None:
    settings = tmp_path / "plan.toml"
    settings.write_text("align = true\n")
    error = site.plan("--queries", 30, *ASSUMED, "--settings", settings).exception
    assert isinstance(error, OstrakaError)
    assert "leave out align" in error.message


@pytest.mark.heavy
def test_the_command_that_is_found_runs_as_it_is(tmp_path: Path, real_guardian: real.Host) -> None:
    for federation in serving(real.build(tmp_path, real_guardian)):
        out = tmp_path / "found.json"
        settings = tmp_path / "plan.toml"
        settings.write_text('ballots = "unverified"\nbatch_size = 5\n')
        asked = ("--pool", federation.pool, *ASSUMED, "--settings", settings, "--json", out)
        words = ("plan", "--site", federation.site, *asked)
        planned = CliRunner().invoke(app, [str(word) for word in words])
        assert planned.exit_code == 0, planned.output
        command = next(line for line in planned.stdout.splitlines() if "ostraka query label" in line)
        run = shlex.split(command.replace("RUN", str(tmp_path / "run")))
        labelled = CliRunner().invoke(app, run[2:])
        assert labelled.exit_code == 0, labelled.output
        assert "10 of 10 queries answered" in labelled.stderr
