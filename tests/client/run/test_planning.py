"""`ostraka query plan` against a real guardian on loopback: what it says, and that it opens nothing."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner, Result

from ostraka.client.cli.query import app
from ostraka.client.run.planning import PlanResult, as_json, warnings
from ostraka.common.config import SiteConfig, write_site
from ostraka.common.datasets import Dataset, from_arrays, save
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.mechanism import Confident, GnMax
from ostraka.common.plan.plan import Plan
from ostraka.common.privacy import AMOUNT_UNIT, epsilon
from ostraka.common.task import Task, infer_task, load_task, write_task
from ostraka.protos.ostraka.v1 import admin_pb2, guardian_pb2
from tests.guardian.federation import FEDERATION, PARTIES, TEACHERS, Calls, Federation, group

NOISE = ("--mechanism", "confident:sigma1=10,sigma2=5,threshold=6")
QUERIES = 30
PLAN = Plan(
    nonce=bytes(16),
    task_digest=bytes(32),
    classes=3,
    mechanism=GnMax(sigma=1.0),
    parties=("a", "b"),
    quorum=1,
    queries=2,
    batch_size=2,
)


@dataclass
class Site:
    folder: Path
    pool: Path
    calls: Calls

    def plan(self, *words: object) -> Result:
        return CliRunner().invoke(app, ["plan", "--site", str(self.folder), *map(str, words)])

    def figures(self, *words: object) -> dict[str, Any]:
        result = self.plan(*words, "--json", "-")
        assert result.exit_code == 0, result.output
        loaded: dict[str, Any] = json.loads(result.stdout)
        return loaded


X = np.linspace(0, 1, QUERIES)[:, None]
RECORDS = from_arrays(X, np.arange(QUERIES) % 3, columns=("first",), classes=("ant", "bee", "cat"))


def serve(federation: Federation, records: Dataset = RECORDS) -> Iterator[Site]:
    folder = federation.root / "q-query"
    task: Task = infer_task(records, "insects")
    write_task(task, folder / "task.toml")
    pool = federation.root / "pool.npz"
    save(records, pool)
    with federation.guardian() as calls:
        for name in PARTIES:
            calls.register(name, task_digest=task.digest)
            calls.budget(name, 10.0)
        write_site(
            SiteConfig(
                federation=FEDERATION,
                site="q",
                role="query",
                guardian=calls.address,
                parties=dict.fromkeys(PARTIES, "127.0.0.1:1"),
                folder=folder,
            )
        )
        yield Site(folder, pool, calls)


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    yield from serve(Federation(tmp_path))


def test_every_partys_worst_case_of_the_pool(site: Site) -> None:
    figures = site.figures("--pool", site.pool, *NOISE)
    assert (figures["queries"], figures["enforce"]) == (QUERIES, "worst_case")
    assert [party["site"] for party in figures["parties"]] == list(PARTIES)
    mechanism = Confident(sigma1=10.0, sigma2=5.0, threshold=6.0)
    for party in figures["parties"]:
        cost = mechanism.worst_case(party["order"], classes=3).reservation(QUERIES, 1) * AMOUNT_UNIT
        assert party["epsilon"] == epsilon(cost, party["order"], party["delta"])
        assert party["budget_epsilon"] == 10.0
        assert party["fits"] > 0


def test_a_pool_is_not_needed(site: Site) -> None:
    of_pool, of_number = (
        site.figures(*words, *NOISE) for words in (("--pool", site.pool), ("--queries", 30))
    )
    assert of_pool == of_number
    fewer = site.figures("--pool", site.pool, "--queries", 10, *NOISE)
    assert fewer["parties"][0]["epsilon"] < of_pool["parties"][0]["epsilon"]
    assert fewer["parties"][0]["fits"] == of_pool["parties"][0]["fits"]


def test_it_says_how_the_pool_was_read_before_anybody_pays(site: Site) -> None:
    table = site.pool.with_suffix(".csv")
    table.write_text("first;label\n" + "0,5;ant\n0,25;bee\n" * 9)
    told = "Read as UTF-8, its cells parted by semicolons."
    assert told in site.figures("--pool", table, *NOISE)["reading"]
    assert f"The pool: {told}" in site.plan("--pool", table, *NOISE).output


def test_nothing_is_opened(site: Site) -> None:
    site.figures("--queries", 30, *NOISE)
    assert not list(site.calls.admin.ListSessions(admin_pb2.ListSessionsRequest()))
    assert site.calls.spent() == 0


@pytest.mark.heavy
def test_people_read_a_table_and_a_plot_is_drawn(site: Site, tmp_path: Path) -> None:
    site.calls.register("c", task_digest=load_task(site.folder / "task.toml").digest, max_votes_per_person=2)
    plot = tmp_path / "plan.svg"
    result = site.plan("--queries", 30, *NOISE, "--plot", plot)
    assert result.exit_code == 0
    assert "30 queries, worst case, every query answered" in " ".join(result.stdout.split())
    text = plot.read_text()
    assert "a, b: renyi" in text
    assert "c: renyi" in text
    assert "budget 10" in text


@pytest.mark.heavy
def test_a_plan_says_who_pays_how_many_vote_and_what_noise_suits_them(site: Site) -> None:
    site.calls.register(
        "a",
        task_digest=load_task(site.folder / "task.toml").digest,
        groups=[group("low"), group("high")],
    )
    for level, amount in (("low", 1.0), ("high", 10.0)):
        site.calls.budget("a", amount, group=level)
    assert site.figures("--queries", 30, *NOISE)["parties"][0]["group"] == "low"
    words = ("--queries", 30, *NOISE, "--variant", "vanishing")
    (settings := site.folder / "plan.toml").write_text("align = true\n")
    plain, aligned = site.figures(*words), site.figures(*words, "--settings", settings)
    assert plain["variant"] == "vanishing"
    assert plain["teachers"] == 4 * TEACHERS
    assert plain["voters"] < plain["teachers"]
    assert plain["scale"] == pytest.approx(plain["voters"] / plain["teachers"])
    assert aligned["mechanism"]["sigma1"] == 10 * plain["scale"]
    assert aligned["mechanism"]["threshold"] == 6 * plain["scale"]
    shown = " ".join(site.plan(*words).stdout.split())
    assert f"{4 * TEACHERS} teachers give {plain['voters']:g} votes" in shown


@pytest.mark.heavy
def test_a_data_dependent_remainder_is_not_shown(tmp_path: Path) -> None:
    federation = Federation(tmp_path, policy='enforce = "data_dependent"\n')
    for site in serve(federation):
        figures = site.figures("--queries", 30, *NOISE)
        assert figures["enforce"] == "data_dependent"
        assert [party["fits"] for party in figures["parties"]] == [None] * 3
        assert "is not shown" in " ".join(site.plan("--queries", 30, *NOISE).stdout.split())


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        (NOISE, ErrorCode.CONFIG_INVALID, "give --pool or --queries"),
        (("--queries", 30), ErrorCode.CONFIG_INVALID, "give --mechanism"),
        (("--queries", 30, "--mechanism", "binary:sigma=5"), ErrorCode.PLAN_INVALID, "single labels"),
        (("--queries", 30, "--parties", "a,z", *NOISE), ErrorCode.PARTY_UNKNOWN, "z"),
        (("--queries", 30, "--quorum", 1, *NOISE), ErrorCode.POLICY_REFUSED, "quorum"),
        (("--queries", 30, "--plot", "plan.pdf", *NOISE), ErrorCode.CONFIG_INVALID, "not a picture"),
    ],
)
def test_what_label_would_be_refused_is_refused_here(
    site: Site, words: tuple[object, ...], code: ErrorCode, told: str
) -> None:
    result = site.plan(*words)
    assert isinstance(result.exception, OstrakaError)
    assert result.exception.code is code
    assert told in result.exception.message


@pytest.mark.heavy
def test_a_plan_names_parties_whose_votes_carry_no_formal_guarantee(site: Site) -> None:
    asked = ("--pool", site.pool, *NOISE)
    assert site.figures(*asked)["unguaranteed"] == []
    site.calls.apply_policy('min_sigma = 0.5\nmechanisms = ["ttac", "confident"]\n')
    digest = load_task(site.folder / "task.toml").digest
    site.calls.register("b", task_digest=digest, together="ttac")
    result = site.plan(*asked, "--json", "-")
    assert json.loads(result.stdout)["unguaranteed"] == ["b"]
    assert "No formal guarantee: teachers of b were trained by ttac" in " ".join(result.stderr.split())


@pytest.mark.parametrize(("threshold", "warned"), [(60, False), (61, True), (300, True)])
def test_a_threshold_above_all_votes_is_warned_about(threshold: int, warned: bool) -> None:
    mechanism = Confident(sigma1=10.0, sigma2=5.0, threshold=float(threshold))
    reply = guardian_pb2.PlanReply(voters=60)
    told = warnings(PlanResult(PLAN.model_copy(update={"mechanism": mechanism}), reply))
    assert bool(told) is warned
    assert all("is above the 60 votes that a query gets" in sentence for sentence in told)
    assert not warnings(PlanResult(PLAN.model_copy(update={"mechanism": GnMax(sigma=1.0)}), reply))


@pytest.mark.parametrize("whole", [True, False])
def test_a_plan_promises_persons_where_every_party_knows_them(whole: bool) -> None:
    parties = [
        guardian_pb2.PartyCost(site="a", whole_persons=True),
        guardian_pb2.PartyCost(whole_persons=whole),
    ]
    promised = as_json(PlanResult(PLAN, guardian_pb2.PlanReply(parties=parties)))["notion"]
    assert promised == ("DP for persons" if whole else "DP for records")
    assert as_json(PlanResult(PLAN, guardian_pb2.PlanReply()))["notion"] == "DP for records"


def test_noise_from_the_parties_costs_labels_and_says_so(site: Site) -> None:
    noised = ("--mechanism", "gnmax:sigma=10", "--quorum", 3, "--noise", "parties")
    figures = site.figures("--pool", site.pool, *noised)
    assert figures["mechanism"] == {"kind": "distributed_gnmax", "sigma": 10.0, "honest": 2}
    assert (figures["noise"], figures["colluders"], figures["ballots"]) == ("parties", 0, "verified")
    assert figures["noise_growth"] == pytest.approx(1.5**0.5)
    plain = site.figures("--pool", site.pool, "--mechanism", "gnmax:sigma=10", "--quorum", 3)
    (paid,), (others,) = ({party["epsilon"] for party in each["parties"]} for each in (figures, plain))
    assert paid > others
    assert figures["guardian_fits"] == min(party["fits"] for party in plain["parties"])
    told = site.plan("--pool", site.pool, *noised).output
    assert "1.22 times what the plan says" in told
    assert f"{figures['guardian_fits']:,} queries would fit" in told


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("gnmax:sigma=10", "--quorum", 3, "--noise", "parties", "--settings", "two"), "quorum.too_small"),
        (("gnmax:sigma=10", "--quorum", 3, "--settings", "two"), "plan.invalid"),
        (("lnmax:gamma=0.1", "--quorum", 3, "--noise", "parties"), "plan.invalid"),
        (("gnmax", "--search", "--noise", "parties"), "config.invalid"),
    ],
)
def test_noise_that_parties_cannot_draw_is_refused(
    site: Site, words: tuple[object, ...], code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("two").write_text("colluders = 2\n")
    refused = site.plan("--pool", site.pool, "--mechanism", *words)
    assert isinstance(refused.exception, OstrakaError)
    assert refused.exception.code == code
