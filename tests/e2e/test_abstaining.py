"""Three parties of which one abstains from a label, on real servers: from a table without it to labels.

Labels are asked all together, and one after another as they depend on each other.
"""

import csv
import json
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from typer.testing import CliRunner

from ostraka.client.dependencies.conditional_labelling import label_by_dependencies
from ostraka.client.dependencies.grouped_labelling import label_by_settings
from ostraka.client.report.run_report import report
from ostraka.client.run.combined import load_combined
from ostraka.client.run.dependency_rules import Dependencies, Dependency, write_dependencies
from ostraka.client.run.labelling import label
from ostraka.client.run.options import PlanOptions
from ostraka.client.session.run_state import load_state
from ostraka.common.config import SITE_FILE, load_site, write_site
from ostraka.common.datasets import Dataset, from_arrays, save
from ostraka.common.mechanism import Binary, Tau
from ostraka.common.privacy import epsilon
from ostraka.common.task import Task, infer_task, write_task
from ostraka.deploy.provisioning import provision
from ostraka.guardian.admin.client import admin_call
from ostraka.guardian.serving import server as guardian_server
from ostraka.protos.ostraka.v1 import admin_pb2, admin_pb2_grpc
from ostraka.services.cli import app
from ostraka.services.serving import server as party_server
from ostraka.services.teachers import Ensemble
from tests.guardian.training import Recording

PARTIES, TEACHERS = ("athens", "sparta", "thebes"), 4
NAMES = ("fever", "cough", "rash")
UNKNOWN = "cough"
"""What athens' records know nothing of."""
MECHANISM = Tau(sigma=3.0, tau=1.3)
VOTE, QUERIES = 2**16, 100


def records(count: int, seed: int) -> Dataset:
    X = np.random.default_rng(seed).normal(size=(count, 5))
    sides = np.random.default_rng(99).normal(size=(5, len(NAMES)))
    return from_arrays(X, (X @ sides > 0).astype(int), classes=NAMES)


@dataclass
class Clinics:
    folder: Path
    task: Task
    noise: Recording

    def ballots(self, X: NDArray[np.float32]) -> NDArray[np.float64]:
        """Return what all teachers vote, (queries, labels)."""
        scores = {site: Ensemble.load(self.folder / site / "teachers").predict(X) for site in PARTIES}
        assert not scores["athens"][..., NAMES.index(UNKNOWN)].any()
        counted: NDArray[np.float64] = np.sum(
            [MECHANISM.ballot.count(own, len(NAMES)) for own in scores.values()], axis=0
        )
        return counted


def place(folder: Path) -> Task:
    """Give every site its records; those of athens are a table without the column."""
    task = infer_task(records(2000, 0), "clinics")
    for seed, site in enumerate((*PARTIES, "query")):
        write_task(task, folder / site / "task.toml")
        low, high = (bound.astype(np.float32) for bound in task.input.bounds())
        own = records(200, seed)
        inside = from_arrays(np.clip(own.X, low, high), own.y, classes=NAMES)
        save(inside, folder / site / "data.npz")
        if site == "athens":
            kept = [name for name in NAMES if name != UNKNOWN]
            with (folder / site / "data.csv").open("w", newline="") as file:
                rows = csv.writer(file)
                rows.writerow([*inside.columns, *kept])
                for x, y in zip(inside.X.tolist(), inside.labels().tolist(), strict=True):
                    rows.writerow([*x, *(bit for bit, name in zip(y, NAMES, strict=True) if name in kept)])
        if site == "query":
            pool = from_arrays(inside.X[:QUERIES])
            save(pool, folder / site / "pool.npz")
    return task


def configure(folder: Path, toml: str = "", **addresses: object) -> None:
    write_site(load_site(folder).model_copy(update=addresses))
    with (folder / SITE_FILE).open("a") as file:
        file.write(toml)


def set_budget(
    request: admin_pb2.SetBudgetRequest, stub: admin_pb2_grpc.AdminStub
) -> admin_pb2.SetBudgetReply:
    return stub.SetBudget(request)


def training(site: str) -> str:
    table = {"teachers": TEACHERS, "model": "logistic_regression"}
    own = {"data": "data.csv", "abstains": [UNKNOWN]} if site == "athens" else {"data": "data.npz"}
    lines = (f"{key} = {json.dumps(value)}" for key, value in (table | own).items())
    return "\n".join(["", "[training]", *lines, ""])


@pytest.fixture
def clinics(tmp_path: Path) -> Iterator[Clinics]:
    folder = tmp_path / "sites"
    provision("clinics", PARTIES, "query", folder, base_port=0)
    made = Clinics(folder, place(folder), Recording())
    configure(folder / "guardian", "\n[policy]\nmin_sigma = 0.5\nmin_quorum = 2\n")
    with ExitStack() as stack:
        served = guardian_server.running(folder / "guardian", noise=made.noise, sleep=lambda _: None)
        guardian = stack.enter_context(served)
        addresses = {}
        for site in PARTIES:
            configure(folder / site, training(site), guardian=guardian)
            trained = CliRunner().invoke(app, ["train", "--site", str(folder / site)])
            assert trained.exit_code == 0, trained.output
            checked = CliRunner().invoke(app, ["check", "--site", str(folder / site)])
            assert (f"do not vote on {UNKNOWN}" in checked.output) is (site == "athens")
            serving = party_server.running(folder / site, stop=threading.Event())
            addresses[site] = stack.enter_context(serving)
        configure(folder / "query", guardian=guardian, parties=addresses)
        configure(folder / "admin", guardian=guardian)
        for site in PARTIES:
            budget = admin_pb2.SetBudgetRequest(
                party=site, group="all", adjacency="record", epsilon=1000.0, delta=1e-5
            )
            admin_call(folder / "admin", partial(set_budget, budget))
        yield made


def test_labels_are_what_the_votes_and_the_drawn_noise_make(clinics: Clinics) -> None:
    site = clinics.folder / "query"
    options = PlanOptions(mechanism=MECHANISM, quorum=2, batch_size=QUERIES)
    result = label(site, site / "pool.npz", options, site / "run")
    assert (result.answered, result.queries) == (QUERIES, QUERIES)
    assert [party["abstains"] for party in report(site / "run")["parties"]] == [[UNKNOWN], [], []]
    X = clinics.task.prepare(clinics.task.load(site / "pool.npz").X)
    positives = VOTE * clinics.ballots(X)
    n = VOTE * TEACHERS * np.array([2 if name == UNKNOWN else 3 for name in NAMES])
    (batch,) = load_state(site / "run").batches
    yes, no = np.empty((2, *positives.shape))
    yes[list(batch.queries)], no[list(batch.queries)] = clinics.noise.drawn[-1]
    difference = positives + yes - (n - positives + no)
    with (site / "run" / "labels.csv").open(newline="") as file:
        given = np.array([[int(row[name]) for name in NAMES] for row in csv.DictReader(file)])
    sure = difference != 0
    np.testing.assert_array_equal(given[sure], (difference > 0)[sure])
    would_be = positives + yes - (VOTE * TEACHERS * 3 - positives + no) > 0
    assert (given != would_be)[:, NAMES.index(UNKNOWN)].any()


def spent(clinics: Clinics) -> dict[str, admin_pb2.Budget]:
    def listed(stub: admin_pb2_grpc.AdminStub) -> list[admin_pb2.Budget]:
        return list(stub.ListBudgets(admin_pb2.ListBudgetsRequest()))

    return {budget.party: budget for budget in admin_call(clinics.folder / "admin", listed)}


def test_a_party_pays_for_the_labels_that_it_votes_on_where_they_are_asked(clinics: Clinics) -> None:
    """Coughs go with fever: athens, which knows none of them, is not asked about them."""
    site, mechanism = clinics.folder / "query", Binary(sigma=1.0)
    rule = Dependency(parent="fever", child=UNKNOWN, confidence=1.0, missed=0.1, support=50)
    write_dependencies(Dependencies(task="clinics", dependencies=(rule,)), site / "deps.toml")
    options = PlanOptions(mechanism=mechanism, quorum=2, batch_size=30)
    result = label_by_dependencies(
        site, site / "pool.npz", options, site / "run", dependencies=site / "deps.toml"
    )
    assert (result.asked, result.answered, result.partly) == (QUERIES, QUERIES, 0)
    combined = load_combined(site / "run")
    fevers = [row for row, bits in combined.answers.items() if isinstance(bits, tuple) and bits[0] == 1]
    assert combined.parts["after-fever"].answers().keys() == set(fevers)
    assert combined.implied.keys() == set(range(QUERIES)) - set(fevers)
    figures = {party["site"]: party for party in report(site / "run")["parties"]}
    for name, budget in spent(clinics).items():
        bits = 2 * QUERIES + (len(fevers) if name != "athens" else 0)
        rdp = bits * mechanism.worst_case(budget.order, classes=1).answer
        assert budget.epsilon_worst_case == pytest.approx(epsilon(rdp, budget.order, 1e-5), rel=1e-6)
        assert figures[name]["asked"] == QUERIES + (len(fevers) if name != "athens" else 0)
        assert figures[name]["epsilon_worst_case"] <= budget.epsilon_worst_case


def test_labels_with_settings_of_their_own_are_charged_as_the_sum(clinics: Clinics) -> None:
    site, usual, rare = clinics.folder / "query", Binary(sigma=1.0), Binary(sigma=2.0)
    (site / "settings.toml").write_text(f'[[group]]\nlabels = ["{UNKNOWN}"]\nsigma = 2\n')
    options = PlanOptions(mechanism=usual, quorum=2, batch_size=30)
    result = label_by_settings(
        site, site / "pool.npz", options, site / "run", settings=site / "settings.toml"
    )
    assert (result.asked, result.answered, result.partly) == (QUERIES, QUERIES, 0)
    figures = {party["site"]: party for party in report(site / "run")["parties"]}
    for name, budget in spent(clinics).items():
        rdp = 2 * QUERIES * usual.worst_case(budget.order, classes=1).answer
        if name != "athens":
            rdp += QUERIES * rare.worst_case(budget.order, classes=1).answer
        assert budget.epsilon_worst_case == pytest.approx(epsilon(rdp, budget.order, 1e-5), rel=1e-6)
        assert figures[name]["epsilon_worst_case"] <= budget.epsilon_worst_case
