"""Labels with settings of their own: a run for each group, joined into one table, costs added up."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ostraka.client.dependencies.grouped_labelling import label_by_settings
from ostraka.client.dependencies.label_settings import LabelGroup, LabelSettings
from ostraka.client.dependencies.several_runs import PartedResult
from ostraka.client.peers.guardian_peer import GuardianPeer
from ostraka.client.report.run_report import report
from ostraka.client.retraining import read_released
from ostraka.client.run.labelling import LabellingRun
from ostraka.client.session.run_state import RunStore, load_state
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.mechanism import L1, Binary, Check, GnMax, Powerset, Tau
from ostraka.common.privacy import ORDERS, epsilon
from ostraka.common.task import load_task
from ostraka.protos.ostraka.v1.guardian_pb2 import OpenBatchRequest
from tests.client.cli.test_query import label, refused
from tests.client.dependencies.clinic import BINARY, TRUE, ask, table
from tests.client.driving import QUICK, options, run, run_of
from tests.client.federation import Federation, refuse
from tests.client.test_resuming import interrupted_once

SECOND = '[[group]]\nlabels = ["cat"]\nmechanism = '
RARE = '[[group]]\nlabels = ["cat"]\nsigma = 9\n'


def settings_of(federation: Federation, text: str = RARE) -> Path:
    path = federation.root / "settings.toml"
    path.write_text(text)
    return path


def grouped(federation: Federation, text: str = RARE, **changes: Any) -> PartedResult:
    chosen = options(**{"mechanism": BINARY, **changes})
    file = settings_of(federation, text)
    return label_by_settings(
        federation.site,
        federation.pool,
        chosen,
        run_of(federation),
        settings=file,
        run=LabellingRun(retry=QUICK),
    )


def answered(rows: int = 10) -> list[tuple[str, ...]]:
    return [(str(row), *TRUE[row % 3], "answered", "") for row in range(rows)]


def test_each_group_is_a_run_with_its_own_mechanism(several: Federation) -> None:
    result = grouped(several)
    assert (result.asked, result.answered, result.partly, result.implied) == (10, 10, 0, 0)
    assert table(several) == answered()
    plans = [load_state(run_of(several) / f"group-{number}").parse_plan() for number in (1, 2)]
    assert [(plan.labels, plan.mechanism) for plan in plans] == [
        ((0, 1), BINARY),
        ((2,), Binary(sigma=9.0)),
    ]


def test_the_report_adds_up_the_costs_of_all_groups(several: Federation) -> None:
    grouped(several)
    figures = report(run_of(several))
    rare = Binary(sigma=9.0)
    charged = ((20, BINARY, 2), (10, rare, 1))
    costs = (
        (order, sum(n * one.worst_case(order, classes=classes).answer for n, one, classes in charged))
        for order in ORDERS
    )
    least = min(epsilon(cost, order, 1e-5) for order, cost in costs)
    for party in figures["parties"]:
        assert party["epsilon_worst_case"] == pytest.approx(least, rel=1e-9)
    assert [part["mechanism"]["sigma"] for part in figures["parts"]] == [5.0, 9.0]


def test_equal_settings_are_one_run_and_labels_restrict(several: Federation) -> None:
    text = '[[group]]\nlabels = ["ant"]\nsigma = 9\n[[group]]\nlabels = ["bee", "cat"]\nsigma = 9\n'
    grouped(several, text, labels=("cat", "ant"))
    assert {path.name for path in run_of(several).glob("group-*")} == {"group-1"}
    assert load_state(run_of(several) / "group-1").parse_plan().labels == (0, 2)
    assert [row[2] for row in table(several)] == [""] * 10


@pytest.mark.parametrize(
    ("mechanism", "text"),
    [
        (BINARY, '[[group]]\nlabels = ["cat"]\nsigma1 = 20\nthreshold = 3\n'),
        (BINARY, f'{SECOND}"binary:check.sigma=20,check.threshold=3"\n'),
        (Binary(sigma=5.0, check=Check(sigma=20.0, threshold=3.0)), RARE),
        (Tau(sigma=5.0, tau=1.4), RARE),
        (L1(sigma=5.0, tau1=2.0), RARE),
    ],
    ids=["own check", "own check as text", "check", "tau", "l1"],
)
def test_mechanisms_of_labels_have_settings(several: Federation, mechanism: Any, text: str) -> None:
    assert grouped(several, text, mechanism=mechanism, queries=2).partly == 0
    own = load_state(run_of(several) / "group-2").parse_plan().mechanism
    assert own.kind == mechanism.kind
    assert own != mechanism


@pytest.mark.heavy
@pytest.mark.parametrize(
    "changes",
    [{"tally": "blind"}, {"variant": "weighting"}, {"variant": "vanishing"}],
    ids=["blind", "weighting", "vanishing"],
)
def test_tallies_and_variants_are_those_of_every_group(several: Federation, changes: dict[str, Any]) -> None:
    assert grouped(several, queries=4, **changes).asked == 4
    assert table(several)[:4] == answered(4)
    for number in (1, 2):
        plan = load_state(run_of(several) / f"group-{number}").parse_plan()
        assert (plan.tally, plan.variant) == (
            changes.get("tally", "aggregate"),
            changes.get("variant", "none"),
        )


def test_a_budget_that_runs_out_leaves_one_batch_partly(several: Federation) -> None:
    def spent(_: OpenBatchRequest) -> None:
        if len(several.guardian.opened) == 3:
            raise refuse(ErrorCode.BUDGET_TOO_SMALL, fits="0")

    several.guardian.on_batch = spent
    result = grouped(several)
    assert (result.asked, result.partly) == (4, 4)
    several.guardian.on_batch = lambda _: None
    assert grouped(several).stopped is None
    assert table(several) == answered()


@pytest.mark.heavy
@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize(
    ("owner", "method"),
    [(RunStore, "create"), (GuardianPeer, "open_session"), (GuardianPeer, "release"), (RunStore, "close")],
    ids=["create", "open", "release", "close"],
)
def test_an_interruption_loses_and_repeats_nothing(
    several: Federation, monkeypatch: pytest.MonkeyPatch, owner: Any, method: str, after: bool
) -> None:
    interrupted_once(monkeypatch, owner, method, after=after)
    with pytest.raises(KeyboardInterrupt):
        grouped(several)
    grouped(several)
    assert table(several) == answered()
    assert sum(len(answers) for answers in several.guardian.answers.values()) == 20


def test_other_settings_labels_or_kinds_are_another_run(several: Federation) -> None:
    grouped(several, queries=2)
    others: list[Callable[[], object]] = [
        lambda: grouped(several, RARE.replace("9", "8"), queries=2),
        lambda: grouped(several, queries=2, labels=("ant", "bee")),
        lambda: ask(several, queries=2),
        lambda: run(several, options(mechanism=BINARY, queries=2)),
    ]
    for again in others:
        with pytest.raises(OstrakaError) as mismatch:
            again()
        assert mismatch.value.code is ErrorCode.RUN_MISMATCH


@pytest.mark.parametrize(
    ("text", "code", "named"),
    [
        (RARE.replace("cat", "dog"), ErrorCode.PLAN_INVALID, "no label 'dog'"),
        (RARE + "tau = 1\n", ErrorCode.PLAN_INVALID, "there is no tau"),
        (RARE + 'mechanism = "binary:sigma=9"\n', ErrorCode.CONFIG_INVALID, "are both given"),
        (SECOND + '"tau:sigma=9"\n', ErrorCode.PLAN_INVALID, "tau is not binary"),
        (SECOND + '"binary:sgma=9"\n', ErrorCode.PLAN_INVALID, "did you mean sigma"),
        (RARE + "threshold = 1\n", ErrorCode.PLAN_INVALID, "give check.sigma as well"),
        (RARE.replace("9", "-9"), ErrorCode.PLAN_INVALID, "label 'cat'"),
        (RARE + "noise = 1\n", ErrorCode.CONFIG_INVALID, "no such key"),
        (RARE + RARE, ErrorCode.CONFIG_INVALID, "'cat' is named twice"),
        ("", ErrorCode.CONFIG_INVALID, "missing"),
        ("[[", ErrorCode.CONFIG_INVALID, "not TOML"),
    ],
)
def test_settings_that_do_not_fit_are_refused(
    several: Federation, text: str, code: ErrorCode, named: str
) -> None:
    with pytest.raises(OstrakaError, match=named) as caught:
        grouped(several, text)
    assert caught.value.code is code
    assert not run_of(several).exists()


def test_powerset_groups_have_as_many_positives_as_they_say() -> None:
    group = LabelGroup(labels=("ant", "bee"), max_positives=1)
    found = LabelSettings(group=(group,)).of(("ant", "bee", "cat"), Powerset(sigma=5.0))
    assert [one.labels for one in found.group] == [("ant", "bee"), ("cat",)]
    assert found.group[0].change(Powerset(sigma=5.0)) == Powerset(sigma=5.0, max_positives=1)


def test_labels_of_groups_depend_on_no_other_record(several: Federation) -> None:
    """Which is what a student by DP-SGD needs of the labels it learns from."""
    grouped(several)
    assert read_released(load_task(several.site / "task.toml"), run_of(several), several.pool).independent


@pytest.mark.heavy
def test_encrypted_queries_have_settings_of_labels(several: Federation) -> None:
    result = grouped(several, encoding="ckks")
    assert (result.asked, result.answered) == (10, 10)


def test_classes_have_no_settings_of_labels(federation: Federation) -> None:
    with pytest.raises(OstrakaError, match="has one class"):
        grouped(federation, mechanism=GnMax(sigma=5.0))


def test_settings_are_an_option_that_excludes_dependencies(several: Federation) -> None:
    given = ("--mechanism", "binary:sigma=5", "--quorum", 2, "--label-settings", settings_of(several))
    both = refused(label(several, *given, "--dependencies", settings_of(several)))
    assert (both.code, "leave out --dependencies" in both.message) == (ErrorCode.PLAN_INVALID, True)
    labelled = label(several, *given)
    assert labelled.exit_code == 0, labelled.output
    assert table(several) == answered()


def test_settings_that_older_rounds_kept_stay_equal() -> None:
    kept = '{"group":[{"labels":["cat"],"sigma":9.0,"sigma1":null,"threshold":null,"tau":null,"tau1":null,'
    kept += '"max_positives":null}]}'
    assert LabelSettings(group=(LabelGroup(labels=("cat",), sigma=9.0),)).model_dump_json() == kept
