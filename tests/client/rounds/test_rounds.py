"""Rounds over real servers on loopback: what they ask, what kills them, what they come to."""

import json
import pkgutil
from collections.abc import Iterator
from dataclasses import replace
from io import StringIO
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from ostraka.client.report import tables
from ostraka.client.report.page import render
from ostraka.client.report.run_report import report
from ostraka.client.retraining import retrain
from ostraka.client.rounds import learner
from ostraka.client.rounds.learning import RoundsResult, learn_in_rounds
from ostraka.client.rounds.rounds_options import Rounds
from ostraka.client.run.labelling import LabellingRun
from ostraka.client.run.rounds_state import load_rounds, runs, save_rounds
from ostraka.client.students.trainers import Choice
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.mechanism import Binary, Interactive, Mechanism, RandRes
from ostraka.protos.ostraka.v1 import guardian_pb2
from tests.client.conftest import serving
from tests.client.dependencies.clinic import BINARY, file_of
from tests.client.driving import QUICK, options
from tests.client.federation import Federation, build
from tests.client.hooks import spending
from tests.client.report.test_run_report import DELTA, expected

LATER = Interactive(sigma1=10.0, sigma2=5.0, threshold=2.0, confidence=0.6)
POOL, QUERIES = 24, 8


@pytest.fixture
def federation(tmp_path: Path) -> Iterator[Federation]:
    yield from serving(build(tmp_path, queries=POOL))


def rounds(count: int = 3, queries: int = QUERIES) -> Rounds:
    return Rounds(count=count, queries=queries, first=options(), later=LATER)


def learn(federation: Federation, asked: Rounds | None = None, **more: object) -> RoundsResult:
    given = {"run": LabellingRun(retry=QUICK)} | more
    return learn_in_rounds(
        federation.site,
        federation.pool,
        asked or rounds(),
        out(federation),
        **given,  # type: ignore[arg-type]
    )


def out(federation: Federation) -> Path:
    return federation.root / "rounds"


def own(federation: Federation) -> Path:
    path = federation.root / "own.csv"
    path.write_text("first,second,label\n" + "0,0,ant\n0.5,0.5,bee\n1,1,cat\n" * 4)
    return path


def test_every_round_asks_about_other_records_and_learns_from_all(federation: Federation) -> None:
    result = learn(federation, labelled=own(federation), test=own(federation))
    assert (result.rounds, result.exhausted, result.stopped) == (3, False, None)
    state = load_rounds(out(federation))
    assert sorted(row for one in state.rounds for row in one.rows) == list(range(POOL))
    assert [one.learned for one in state.rounds] == [8, 16, 24]
    kinds = [run.parse_plan().mechanism.kind for run in runs(out(federation), state)]
    assert kinds == ["confident", "interactive", "interactive"]
    for number in (1, 2, 3):
        folder = out(federation) / f"round-{number}"
        told = json.loads((folder / "student.json").read_text())
        assert (told["released"], told["labelled"]) == (8 * number, 12)
        assert told["before"]["accuracy"] == 1.0
        assert (folder / "labels.csv").read_text().count("answered") == 8


@pytest.mark.heavy
def test_a_round_asks_what_the_student_before_is_least_sure_of(
    federation: Federation, monkeypatch: pytest.MonkeyPatch
) -> None:
    sure = np.linspace(0.4, 0.9, POOL)
    believed = np.stack([sure, (1 - sure) / 2, (1 - sure) / 2], axis=1)
    monkeypatch.setattr(learner, "probabilities", lambda *_: believed)
    learn(federation, rounds(2))
    first, second = (set(one.rows) for one in load_rounds(out(federation)).rounds)
    assert second == set(sorted(set(range(POOL)) - first)[:QUERIES])


@pytest.mark.heavy
def test_what_it_costs_adds_up_over_rounds(federation: Federation) -> None:
    learn(federation, test=own(federation))
    figures = report(out(federation), delta=DELTA)
    assert [one["epsilon_worst_case"] for one in figures["rounds"]] == [
        pytest.approx(expected(asked, asked), rel=1e-12) for asked in (8, 16, 24)
    ]
    assert [one["answered"] for one in figures["rounds"]] == [8, 8, 8]
    assert [one["accuracy"] for one in figures["rounds"]][1:] == [1.0, 1.0]
    assert figures["notion"] == "DP for records"
    assert figures["parties"][0]["epsilon_worst_case"] == pytest.approx(expected(24, 24), rel=1e-12)
    one = report(out(federation) / "round-2", delta=DELTA)
    assert one["student"]["released"] == 16
    assert one["parties"][0]["epsilon_worst_case"] == pytest.approx(expected(8, 8), rel=1e-12)


@pytest.mark.heavy
def test_a_pool_ends_the_rounds(federation: Federation) -> None:
    result = learn(federation, rounds(9, 10))
    assert (result.rounds, result.exhausted) == (3, True)
    assert [len(one.rows) for one in load_rounds(out(federation)).rounds] == [10, 10, 4]


@pytest.mark.heavy
@pytest.mark.parametrize(("budget", "learned"), [(11, [8, 11]), (8, [8, None])])
def test_a_spent_budget_ends_the_rounds_and_a_larger_one_lets_them_go_on(
    federation: Federation, budget: int, learned: list[int | None]
) -> None:
    federation.guardian.on_batch = spending(budget)
    result = learn(federation)
    assert result.stopped is not None
    assert result.stopped.code == "budget.too_small"
    assert [one.learned for one in load_rounds(out(federation)).rounds] == learned
    figures = report(out(federation))
    assert figures["stopped"]["code"] == "budget.too_small"
    assert figures["rounds"][-1]["learned"] == learned[-1]
    federation.guardian.on_batch = spending(POOL)
    assert learn(federation).stopped is None
    assert [one.learned for one in load_rounds(out(federation)).rounds] == [8, 16, 24]


def test_a_budget_too_small_for_anything_is_an_error(federation: Federation) -> None:
    federation.guardian.on_batch = spending(0)
    with pytest.raises(OstrakaError) as refused:
        learn(federation)
    assert refused.value.code is ErrorCode.BUDGET_TOO_SMALL


PLACES = (
    "ostraka.client.rounds.learner.save_rounds",
    "ostraka.client.rounds.learner.save",
    "ostraka.client.rounds.learner.collect",
    "ostraka.client.retraining.StudentTraining.train_on_all",
    "ostraka.client.retraining.StudentTraining.keep",
    "ostraka.client.rounds.learner.write_atomic",
    "ostraka.client.peers.guardian_peer.GuardianPeer.release",
)


@pytest.mark.heavy
@pytest.mark.parametrize("call", [1, 2, 3])
@pytest.mark.parametrize("place", PLACES)
def test_whatever_kills_a_round_the_next_call_goes_on(federation: Federation, place: str, call: int) -> None:
    calls: list[str] = []
    with pytest.MonkeyPatch.context() as patched:
        real = pkgutil.resolve_name(place)

        def killed(*arguments: object, **more: object) -> object:
            calls.append(place)
            if len(calls) == call:
                raise KeyboardInterrupt
            return real(*arguments, **more)

        patched.setattr(place, killed)
        with pytest.raises(KeyboardInterrupt):
            learn(federation)
    learn(federation)
    state = load_rounds(out(federation))
    assert sorted(row for one in state.rounds for row in one.rows) == list(range(POOL))
    assert [one.learned for one in state.rounds] == [8, 16, 24]
    asked = [len(run.answers()) for run in runs(out(federation), state)]
    assert asked == [8, 8, 8]


@pytest.mark.heavy
def test_a_first_student_that_is_gone_is_measured_again(federation: Federation) -> None:
    learn(federation, rounds(2), labelled=own(federation), test=own(federation))
    first, second = (out(federation) / f"round-{number}" / "student.json" for number in (1, 2))
    before = json.loads(first.read_text())["before"]
    first.unlink()
    state = load_rounds(out(federation))
    forgotten = state.rounds[1].model_copy(update={"learned": None})
    save_rounds(out(federation), state.model_copy(update={"rounds": (state.rounds[0], forgotten)}))
    learn(federation, rounds(2), labelled=own(federation), test=own(federation))
    assert json.loads(second.read_text())["before"] == before


@pytest.mark.heavy
def test_a_round_that_is_gone_is_told_and_nothing_is_trained_without_it(federation: Federation) -> None:
    learn(federation, rounds(2))
    (out(federation) / "round-1" / "session.json").unlink()
    kept = (out(federation) / "round-2" / "student.skops").read_bytes()
    with pytest.raises(OstrakaError) as refused:
        learn(federation, rounds(2))
    assert refused.value.code is ErrorCode.DATA_MISSING
    assert (out(federation) / "round-2" / "student.skops").read_bytes() == kept


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"asked": rounds(3, 6)}, "queries"),
        (
            {
                "asked": Rounds(
                    count=3,
                    queries=QUERIES,
                    first=options(),
                    later=LATER.model_copy(update={"threshold": 3.0}),
                )
            },
            "later mechanism",
        ),
        ({"asked": replace(rounds(2), seed=5)}, "seed"),
        ({"asked": replace(rounds(2), student=Choice(model="mlp"))}, "model"),
    ],
)
def test_rounds_of_another_kind_are_not_mixed(
    federation: Federation, changed: dict[str, object], said: str
) -> None:
    learn(federation, rounds(1))
    before = {path: path.read_bytes() for path in out(federation).rglob("*") if path.is_file()}
    with pytest.raises(OstrakaError, match=f"other {said}:") as refused:
        learn(federation, **{"asked": rounds(2), **changed})  # type: ignore[arg-type]
    assert refused.value.code is ErrorCode.RUN_MISMATCH
    assert {path: path.read_bytes() for path in out(federation).rglob("*") if path.is_file()} == before


def test_rounds_of_another_pool_are_not_mixed(federation: Federation) -> None:
    learn(federation, rounds(1))
    federation.write_pool([0.5] * POOL)
    with pytest.raises(OstrakaError, match="other pool_sha256") as refused:
        learn(federation, rounds(2))
    assert refused.value.code is ErrorCode.RUN_MISMATCH


def test_a_pool_smaller_than_asked_is_refused(federation: Federation) -> None:
    with pytest.raises(OstrakaError, match="ask fewer") as refused:
        learn(federation, rounds(1, POOL + 1))
    assert refused.value.code is ErrorCode.PLAN_INVALID
    assert not out(federation).exists()


@pytest.fixture
def clinics(tmp_path: Path) -> Iterator[Federation]:
    """Serve insects of several labels: no cat is no bee."""
    yield from serving(build(tmp_path, queries=POOL, multi_label=True))


@pytest.mark.heavy
def test_several_labels_are_asked_in_rounds_by_the_same_mechanism(clinics: Federation) -> None:
    result = learn(clinics, several(2))
    assert (result.rounds, result.stopped) == (2, None)
    figures = report(out(clinics))
    assert [(one["mechanism"], one["answered"]) for one in figures["rounds"]] == [("binary", 8)] * 2
    assert [one["learned"] for one in figures["rounds"]] == [8, 16]


def test_dependencies_of_records_of_one_class_are_refused(federation: Federation) -> None:
    with pytest.raises(OstrakaError, match="dependencies are between labels") as refused:
        learn(federation, replace(rounds(), dependencies=file_of(federation)))
    assert refused.value.code is ErrorCode.TASK_MISMATCH
    assert not out(federation).exists()


def test_several_labels_have_mechanisms_of_their_own(clinics: Federation) -> None:
    with pytest.raises(OstrakaError, match="choose one of binary, tau") as refused:
        learn(clinics)
    assert refused.value.code is ErrorCode.PLAN_INVALID
    assert not out(clinics).exists()


@pytest.mark.heavy
def test_every_round_leaves_out_what_other_labels_imply(clinics: Federation) -> None:
    asked = several(2, dependencies=file_of(clinics))
    learn(clinics, asked)
    state = load_rounds(out(clinics))
    for one, figures in zip(state.rounds, report(out(clinics))["rounds"], strict=True):
        assert figures["implied"] == sum(row % 3 == 0 for row in one.rows)
        assert (figures["asked"], figures["answered"]) == (8, 8)
    assert len(runs(out(clinics), state)) == 4
    assert report(out(clinics))["parties"][0]["asked"] == 16 + sum(
        row % 3 != 0 for one in state.rounds for row in one.rows
    )
    assert learn(clinics, replace(asked, count=3)).rounds == 3
    with pytest.raises(OstrakaError, match="other dependencies:"):
        learn(clinics, several(3))


@pytest.mark.heavy
def test_every_round_asks_labels_with_their_own_settings(clinics: Federation) -> None:
    settings = clinics.root / "settings.toml"
    settings.write_text('[[group]]\nlabels = ["cat"]\nsigma = 9.0\n')
    learn(clinics, replace(several(2), label_settings=settings))
    made = runs(out(clinics), load_rounds(out(clinics)))
    assert [run.parse_plan().mechanism for run in made] == [BINARY, Binary(sigma=9.0)] * 2
    assert [one["answered"] for one in report(out(clinics))["rounds"]] == [8, 8]
    again = retrain(clinics.site, None, out(clinics), clinics.pool)
    assert again.released == 16


@pytest.mark.parametrize("chosen", [LATER, RandRes(epsilon=1.0)])
def test_a_mechanism_that_fits_no_rounds_is_refused(federation: Federation, chosen: Mechanism) -> None:
    with pytest.raises(OstrakaError, match=r"begin with confident|rounds gain nothing") as refused:
        learn(federation, replace(rounds(), first=options(mechanism=chosen)))
    assert refused.value.code is ErrorCode.PLAN_INVALID
    assert not out(federation).exists()


def several(count: int, dependencies: Path | None = None) -> Rounds:
    first = options(mechanism=BINARY)
    return Rounds(count=count, queries=QUERIES, first=first, later=BINARY, dependencies=dependencies)


@pytest.mark.heavy
def test_the_first_of_several_rounds_leaves_the_others_their_share(federation: Federation) -> None:
    """A guardian that always says that twelve queries fit: of these each round has its part."""
    federation.guardian.fits = lambda plan: min(12, plan.queries)
    federation.guardian.on_batch = spending(12)
    stop = learn(federation, rounds(3)).stopped
    assert [len(one.rows) for one in load_rounds(out(federation)).rounds] == [4, 6, 8]
    assert stop is not None
    assert report(out(federation))["rounds"][-1]["answered"] == 2


@pytest.mark.heavy
def test_another_student_learns_from_all_rounds(federation: Federation) -> None:
    learn(federation)
    result = retrain(federation.site, None, out(federation), federation.pool, test=own(federation))
    assert result.released == POOL
    assert result.path == out(federation) / "student.skops"


def test_no_label_at_all_is_told(federation: Federation) -> None:
    nothing = guardian_pb2.Answer(answered=False)
    federation.guardian.alter_answers = lambda answers: [nothing] * len(answers)
    with pytest.raises(OstrakaError, match="released no label") as refused:
        learn(federation)
    assert refused.value.code is ErrorCode.DATA_TOO_FEW


@pytest.mark.parametrize(
    ("choice", "told"),
    [
        (Choice("oracle"), "no student oracle"),
        (Choice(model="oracle"), "no model oracle"),
        (Choice("vat", steps=-1), "needs steps"),
        (Choice(model="tests.client.students.own_models:neighbours"), "holds .*KNeighborsClassifier"),
        (Choice("dp-sgd"), "decides which other records are asked"),
    ],
)
def test_a_student_that_there_is_not_is_told_before_anything_is_asked(
    federation: Federation, choice: Choice, told: str
) -> None:
    with pytest.raises(OstrakaError, match=told) as refused:
        learn(federation, replace(rounds(), student=choice))
    assert refused.value.code in (ErrorCode.CONFIG_INVALID, ErrorCode.MODEL_INVALID)
    assert not federation.guardian.plans
    assert not out(federation).exists()


@pytest.mark.parametrize("model", ["network", "tests.client.students.own_models:network"])
def test_the_curves_of_every_round_go_into_a_folder_of_their_own(federation: Federation, model: str) -> None:
    log = federation.root / "log"
    learn(federation, replace(rounds(2), student=Choice(model=model, steps=2, log=log)))
    folders = sorted(path.parent.relative_to(log) for path in log.rglob("events.*"))
    assert folders == [Path("round-1/all"), Path("round-2/all")]


@pytest.mark.heavy
def test_what_the_student_says_itself_is_learned_too(federation: Federation) -> None:
    federation.parties["b"].dissents = True
    sure = Rounds(
        count=2, queries=QUERIES, first=options(), later=LATER.model_copy(update={"confidence": 0.34})
    )
    learn(federation, sure, labelled=own(federation))
    first, second = report(out(federation))["rounds"]
    assert (first["by_student"], first["learned"]) == (0, first["answered"])
    assert second["answered"] + second["by_student"] == QUERIES > second["answered"]
    assert second["learned"] == first["answered"] + QUERIES


def test_rounds_that_asked_nothing_yet_are_told(
    federation: Federation, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(learner, "save", stopped)
        with pytest.raises(KeyboardInterrupt):
            learn(federation)
    figures = report(out(federation))
    assert (figures["rounds"], figures["parties"], figures["student"]) == ([], [], None)
    console = Console(width=300, file=StringIO())
    with console.capture() as shown:
        tables.show(figures, console)
    assert "a pool of 24" in shown.get()
    assert "nothing was charged" in render(figures)


def stopped(*_: object) -> None:
    raise KeyboardInterrupt
