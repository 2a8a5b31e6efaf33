import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from benchmarks.capc_multilabel import __main__ as command
from benchmarks.capc_multilabel import cells as cells_module
from benchmarks.capc_multilabel import central, retraining, tables
from benchmarks.capc_multilabel.data import (
    DELTA,
    EPSILONS,
    QUERYING,
    QUICK,
    SETTINGS,
    Records,
    Setting,
    Split,
    deal,
    load,
)
from benchmarks.capc_multilabel.linear import REGULARISATION, Linear
from benchmarks.capc_multilabel.models import (
    Said,
    Scores,
    balanced_accuracy,
    fit,
    load_or_predict,
    scores,
    weakest,
)
from benchmarks.capc_multilabel.noise import RepeatableNoise
from benchmarks.capc_multilabel.sessions import RING, Mechanism, Session, _fitting, _sums, session
from ostraka.common.datasets.label_columns import UNKNOWN
from ostraka.common.mechanism import Binary, Check, Powerset, Tau
from ostraka.common.privacy import budget_rdp, epsilon
from ostraka.common.sharing.fixed_point import decode
from ostraka.guardian.accounting import binary_and_check_rdp, binary_rdp
from ostraka.guardian.noise import LATTICE, NoiseSource

LEAST_P = 1e-9


def noise(seed: int = 0) -> RepeatableNoise:
    return RepeatableNoise(np.random.default_rng(seed))


@pytest.fixture(scope="module")
def split() -> Split:
    return deal(*load(QUICK), QUICK.parties, QUICK.pool, 0)


@pytest.fixture(scope="module")
def spoken(split: Split, tmp_path_factory: pytest.TempPathFactory) -> Said:
    return load_or_predict(split, 0, tmp_path_factory.mktemp("cache") / "said.npz")


def random_scores(voters: int, pool: int, labels: int) -> Scores:
    return np.random.default_rng(5).random((voters, pool, labels)).astype(np.float32)


def test_every_record_is_dealt_once_and_no_party_sees_what_tests_it() -> None:
    train = Records(np.arange(50.0)[:, None].astype(np.float32), np.zeros((50, 2), np.int64))
    other = Records(train.X + 100, train.y)
    dealt = deal(train, other, 7, 10, 3)
    assert np.array_equal(np.sort(np.concatenate(dealt.shares)), np.arange(50))
    unlabeled = np.concatenate([dealt.pool.X, dealt.test.X])
    assert len(dealt.pool.X) == 10 * QUERYING
    assert np.array_equal(np.sort(unlabeled[:, 0]), other.X[:, 0])


def test_the_linear_model_is_balanced_logistic_regression_label_by_label(split: Split) -> None:
    own = split.of(0)
    model = Linear("balanced").fit(own.X, own.y)
    scaler = StandardScaler().fit(own.X)
    for label in range(split.labels):
        known = LogisticRegression(C=1 / REGULARISATION, class_weight="balanced", max_iter=500)
        known.fit(scaler.transform(own.X), own.y[:, label])
        expected = known.predict_proba(scaler.transform(split.test.X))[:, 1]
        assert np.allclose(model.predict_proba(split.test.X)[:, label], expected, atol=0.02)
    assert np.array_equal(model.predict(own.X), model.predict_proba(own.X) >= 0.5)


def test_a_label_that_all_or_none_have_is_given_to_all_or_none() -> None:
    X = np.random.default_rng(0).random((200, 3)).astype(np.float32)
    y = np.stack([np.ones(200), np.zeros(200), X[:, 0] > 0.5], axis=1).astype(np.int64)
    found = scores(fit([Records(X, y)], 0), X, 3)[0]
    assert (found[:, 0] == 1).all()
    assert (found[:, 1] == 0).all()
    assert balanced_accuracy(y, found) > 0.8


def test_of_labels_that_are_not_all_known_each_is_learned_by_itself(split: Split) -> None:
    own = split.of(0)
    y = own.y.copy()
    y[::3, 1] = UNKNOWN
    found = scores(fit([Records(own.X, y)], 0), split.test.X, split.labels)[0]
    whole = scores(fit([own], 0), split.test.X, split.labels)[0]
    assert np.allclose(found[:, [0, 2]], whole[:, [0, 2]], atol=0.02)
    some = y[:, 1] != UNKNOWN
    model = Linear("balanced").fit(own.X[some], own.y[some, 1])
    assert np.allclose(found[:, 1], model.predict_proba(split.test.X)[:, 1])
    assert np.array_equal(model.predict(own.X), model.predict_proba(own.X)[:, 1] >= 0.5)


def test_what_is_not_known_counts_for_nothing() -> None:
    y = np.array([[1, 1], [0, 1], [1, 0], [0, 0]])
    found = np.array([[1, UNKNOWN], [0, UNKNOWN], [0, UNKNOWN], [UNKNOWN, 0]])
    assert balanced_accuracy(y, found) == 0.75


def test_noise_is_repeated_by_a_seed() -> None:
    from scipy.stats import kstest

    assert np.array_equal(noise().gaussian(3.0, (4,)), noise().gaussian(3.0, (4,)))
    drawn = noise(1).gaussian(2.0, (20, 2000)) * LATTICE
    assert kstest(drawn.ravel() / 2, "norm").pvalue > LEAST_P
    assert kstest(noise(3).laplace(2.0, (2000,)) * LATTICE, "laplace", (0, 2)).pvalue > LEAST_P


def test_released_labels_are_the_majority_where_noise_is_small() -> None:
    votes = random_scores(7, 5, 3)
    majority = (votes >= 0.5).sum(axis=0) > 3.5
    found = session(votes, Binary(sigma=0.05), 1e6, noise())
    assert np.array_equal(found.answers, majority)


def test_a_session_ends_before_the_query_that_does_not_fit_and_costs_what_the_guardian_charges() -> None:
    votes, mechanism = random_scores(9, 60, 4), Binary(sigma=4)
    found = session(votes, mechanism, 10.0, noise())
    assert 0 < len(found.answers) < 60
    positives = (votes >= 0.5).sum(axis=0).astype(np.float64)
    by_query = binary_rdp(positives, 9.0, 4.0, [found.order], bound="exact", lattice=LATTICE)[:, 0]
    asked, budget = len(found.answers), budget_rdp(10.0, DELTA, found.order)
    assert found.spent == pytest.approx(by_query[:asked].sum())
    assert found.spent <= budget < found.spent + by_query[asked]
    assert epsilon(found.spent, found.order, DELTA) <= 10.0
    assert found.worst_case >= found.spent


@pytest.mark.parametrize("mechanism", [Tau(sigma=4, tau=1.2), Powerset(sigma=2)])
def test_clipped_votes_and_label_sets_are_charged_too(mechanism: Mechanism) -> None:
    few, many = (session(random_scores(9, 200, 4), mechanism, budget, noise()) for budget in (5.0, 10.0))
    assert 0 < len(few.answers) < len(many.answers)
    assert 0 < few.spent <= few.worst_case
    assert set(np.unique(many.answers)) <= {0, 1}


def test_of_checked_labels_only_those_that_pass_are_answered_and_any_answers_would_have_fitted() -> None:
    votes, plain = random_scores(9, 60, 4), Tau(sigma=4, tau=1.2)
    checked = plain.model_copy(update={"check": Check(threshold=7, sigma=4)})
    found, whole = (session(votes, mechanism, 10.0, noise()) for mechanism in (checked, plain))
    assert set(np.unique(found.answers)) == {UNKNOWN, 0, 1}
    asked, budget = len(found.answers), budget_rdp(10.0, DELTA, found.order)
    positives = decode(_sums(votes[:, :asked], checked, 4), RING)
    by_outcome = [
        binary_and_check_rdp(positives, 9.0, 7, 4.0, 4.0, [found.order], answered, tau=1.2, lattice=LATTICE)[
            :, 0
        ]
        for answered in (found.answers != UNKNOWN, np.ones((asked, 4), dtype=np.bool_))
    ]
    assert found.spent == pytest.approx(by_outcome[0].sum())
    assert found.spent - by_outcome[0][-1] + by_outcome[1][-1] <= budget
    assert len(whole.answers) > 0
    assert UNKNOWN not in whole.answers


def test_a_query_is_released_only_where_its_dearest_outcome_is_left_by_those_before() -> None:
    exact, dearest = np.array([1.0, 1.0, 1.0, 0.5]), np.array([2.0, 2.0, 3.5, 0.5])
    assert [_fitting(exact, dearest, room) for room in (1.9, 2.9, 3.0, 5.4, 5.5)] == [0, 1, 2, 2, 4]


def test_a_pool_that_is_used_up_ends_a_session_within_its_budget() -> None:
    found = session(random_scores(9, 3, 2), Binary(sigma=9), 20.0, noise())
    assert len(found.answers) == 3
    assert found.spent < budget_rdp(20.0, DELTA, found.order)


def test_the_weakest_on_pools_ask_first() -> None:
    y = np.tile(np.array([[0], [1]], dtype=np.int64), (50, 1))
    asked = np.stack(
        [np.where(np.arange(100) < wrong, 1 - y[:, 0], y[:, 0]) for wrong in (0, 40, 20, 30, 10)]
    )
    assert weakest(asked[:, :, None].astype(np.float32), y).tolist() == [1, 3, 2]


@pytest.mark.heavy
def test_a_querying_party_does_not_answer_itself_and_asks_first_what_it_is_least_sure_of(
    split: Split, spoken: Said, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Scores] = []

    def recorded(votes: Scores, mechanism: Mechanism, budget: float, source: NoiseSource) -> Session:
        asked.append(votes)
        return session(votes, mechanism, budget, source)

    monkeypatch.setattr(retraining, "session", recorded)
    found = retraining.federation(split, spoken, QUICK.binary, 0)
    assert [turn.party for turn in found.turns] == spoken.querying.tolist() * len(EPSILONS)
    for place, party in enumerate(spoken.querying):
        of_pool = spoken.asked[:, place * QUICK.pool : (place + 1) * QUICK.pool]
        order = np.argsort(np.abs(of_pool[party] - np.float32(0.5)).mean(axis=1), kind="stable")
        assert np.array_equal(asked[place], np.delete(of_pool, party, axis=0)[:, order])


@pytest.mark.heavy
def test_a_federation_holds_every_session_to_its_budget_and_adds_up_what_records_pay(
    split: Split, spoken: Said
) -> None:
    found = retraining.federation(split, spoken, QUICK.binary, 0)
    for turn in found.turns:
        assert turn.spent <= turn.budget
        assert turn.spent <= turn.worst_case
        assert len(turn.labels_before) == len(turn.labels_after) == split.labels
    for one in found.together:
        spent = [turn.spent for turn in found.turns if turn.budget == one.budget]
        assert max(spent) < one.spent < sum(spent) * 1.5
    assert found == retraining.federation(split, spoken, QUICK.binary, 0)
    assert found.initial.bac > found.turns[0].before.bac


@pytest.mark.heavy
def test_a_federation_with_checks_retrains_on_the_labels_that_passed(split: Split, spoken: Said) -> None:
    found = retraining.federation(split, spoken, QUICK.checked, 0)
    assert all(turn.queries > 0 and turn.right is not None for turn in found.turns)
    assert all(turn.spent <= turn.budget for turn in found.turns)
    assert any(turn.after != turn.before for turn in found.turns)


@pytest.mark.heavy
def test_a_budget_that_pays_for_nothing_leaves_the_model_as_it_was(
    split: Split, spoken: Said, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retraining, "EPSILONS", (0.5,))
    found = retraining.federation(split, spoken, Binary(sigma=0.1), 0)
    assert all(turn.queries == 0 and turn.right is None for turn in found.turns)
    assert all(turn.before == turn.after for turn in found.turns)
    assert all(turn.by_chance == pytest.approx(turn.before.bac) for turn in found.turns)


@pytest.mark.heavy
def test_students_of_votes_and_dp_sgd_beat_chance(split: Split, spoken: Said) -> None:
    for method in ("Binary PATE, linear", "Binary PATE, MixMatch", "Powerset PATE, linear", "DP-SGD"):
        found = central.METHODS[method](QUICK, split, spoken, 10.0, 0)
        assert found.measure is not None
        assert found.measure.auc > 0.6
        assert (found.queries is None) == (method == "DP-SGD")
        assert (found.spent or 0) <= 10.0


def silent(said: Said) -> Said:
    """No model says yes to anything."""
    return replace(said, asked=np.zeros_like(said.asked))


@pytest.mark.parametrize("method", ["Powerset PATE, MixMatch", "Powerset PATE, linear"])
@pytest.mark.parametrize("epsilon", [0.01, 20.0])
def test_labels_that_all_say_the_same_or_none_are_not_enough_and_end_no_run(
    method: str, epsilon: float, split: Split, spoken: Said
) -> None:
    setting = replace(QUICK, powerset=Powerset(sigma=0.5))
    found = central.METHODS[method](setting, split, silent(spoken), epsilon, 0)
    assert (found.queries, found.measure, found.at_means) == (0 if epsilon < 1 else found.queries, None, None)
    enough = central.without_privacy(QUICK, split, spoken, epsilon, 0)
    cells = [
        cells_module.Central("digits", method, epsilon, seed, one) for seed, one in enumerate((found, enough))
    ]
    (row,) = tables.central_rows(cells)
    assert row[5:] == ("-",) * 5
    (row,) = tables.central_rows(cells[1:])
    assert "-" not in row[5:]


def no_federation(*_: object) -> None:
    raise AssertionError("measured again")


@pytest.mark.heavy
def test_the_command_prints_writes_and_draws_and_measures_nothing_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(cells_module, "CENTRAL", (("non-private", None), ("Binary PATE, linear", 20.0)))
    out, text, image = tmp_path / "all.json", tmp_path / "tables.md", tmp_path / "labels.png"
    command.main(tmp_path / "cache", quick=True, json=str(out), text=text, image=image)
    printed = capsys.readouterr().out
    assert all(title in printed for title in (command.FIRST, command.SECOND, command.THIRD))
    found = json.loads(out.read_text())
    assert len(found["retrained"]) == len(found["central"]) == 2
    assert {"initial", "before", "after"} <= {
        line.split(" | ")[2] for line in text.read_text().splitlines() if line.count(" | ") > 8
    }
    assert image.read_bytes().startswith(b"\x89PNG")
    monkeypatch.setattr(cells_module, "federation", no_federation)
    command.main(tmp_path / "cache", quick=True, json=str(out))
    assert json.loads(out.read_text()) == found


def test_data_that_are_not_there_are_said_to_be_skipped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("benchmarks.capc_multilabel.data.DATA", tmp_path)
    command.main(tmp_path, only="yeast")
    assert "yeast: skipped" in capsys.readouterr().out


@pytest.mark.parametrize("setting", SETTINGS, ids=lambda setting: setting.name)
def test_mechanisms_suit_the_labels_of_their_data(setting: Setting, tmp_path: Path) -> None:
    if not setting.there:
        pytest.skip("../shared/data lies not beside the checkout")
    train, other = load(setting)
    for mechanism in (setting.binary, setting.tau, setting.checked, setting.central, setting.powerset):
        mechanism.check_classes(train.y.shape[1])
    assert len(other.X) > QUERYING * setting.pool
    assert len(train.X) >= setting.parties
