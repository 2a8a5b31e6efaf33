"""One round of a party against Algorithm 1 of Dodwadmath and Stich 2022 in NumPy, for logistic regression."""

import numpy as np
import pytest
import structlog
import torch
from numpy.typing import NDArray

from ostraka.client.training.training_state import AveragedModel
from ostraka.common.crypto.logits import LOGIT_RANGE
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.learning.device import Device
from ostraka.common.learning.record_gradients import STEPS
from ostraka.common.learning.record_gradients import _tell as _failures
from ostraka.common.mechanism import DpTtac, Ttac
from ostraka.common.mechanism.ttac import UPDATE_UNITS
from ostraka.services.teachers import joint_training
from ostraka.services.teachers.assignment import Slice
from ostraka.services.teachers.config import TrainingConfig
from ostraka.services.teachers.joint_training import (
    JointTeachers,
    RoundInput,
    draw_batches,
    first_parameters,
    set_vector,
    vector,
)
from tests.fake_card import GONE, FakeCards
from tests.services.teachers.joint.examples import (
    CLASSES,
    CONFIG,
    FEATURES,
    TEACHERS,
    Picky,
    dp_ttac,
    first,
    parts,
    recipe,
    start,
    teachers,
    ttac,
)

Floats = NDArray[np.float64]
MECHANISMS = pytest.mark.parametrize("mechanism", [ttac(), dp_ttac("record"), dp_ttac("party")], ids=str)


def gradient(theta: Floats, X: Floats, y: NDArray[np.int64]) -> Floats:
    """Each record's gradient of the cross-entropy, (N, d): weight (classes, features), then bias."""
    weight, bias = theta[: CLASSES * FEATURES].reshape(CLASSES, FEATURES), theta[CLASSES * FEATURES :]
    logits = X @ weight.T + bias
    share: Floats = np.exp(logits - logits.max(axis=1, keepdims=True))
    slope = share / share.sum(axis=1, keepdims=True) - np.eye(CLASSES)[y]
    each: Floats = np.concatenate([np.einsum("nk,nf->nkf", slope, X).reshape(len(y), -1), slope], axis=1)
    return each


def shorter(each: Floats, radius: float) -> Floats:
    clipped: Floats = each * np.minimum(1, radius / np.linalg.norm(each, axis=1, keepdims=True))
    return clipped


def local(part: Slice, round: RoundInput, c_i: Floats, mechanism: Ttac | DpTtac) -> Floats:
    """Lines 5 to 9."""
    theta, rule = round.theta.astype(np.float64), mechanism.recipe
    rate = rule.learning_rate * rule.decay**round.number
    by_record = isinstance(mechanism, DpTtac) and mechanism.clip == "record"
    device = torch.device("cpu")
    for X, y in draw_batches(part, round.number, rule, "logistic", CONFIG, device, moved=not by_record):
        each = gradient(theta, X[0].double().numpy(), y[0].numpy())
        if isinstance(mechanism, DpTtac) and by_record:
            each = shorter(each, mechanism.radius)
        theta = theta - rate * (each.mean(axis=0) - c_i + round.c)
    return theta


@pytest.mark.parametrize("number", [0, 4])
def test_a_round_is_algorithm_1(number: int) -> None:
    slices, mechanism = parts(), ttac()
    round, variates = start(number)
    steps, after = teachers(slices, mechanism).update(mechanism, round, variates)
    moved = [
        local(part, round, c_i, mechanism) - round.theta for part, c_i in zip(slices, variates, strict=True)
    ]
    np.testing.assert_allclose(steps / (STEPS * UPDATE_UNITS), np.sum(moved, axis=0), atol=1e-5)
    way = 3 * 0.5 * 0.9**number
    wanted = [c_i - round.c - one / way for c_i, one in zip(variates, moved, strict=True)]
    np.testing.assert_allclose(after, wanted, atol=1e-5)


def test_a_whole_training_is_algorithm_1() -> None:
    """Three parties of two teachers, four rounds: the average and its variate from sums alone."""
    mechanism = ttac(average_rate=0.8)
    parties = [parts(seed=seed) for seed in range(3)]
    together = [teachers(slices, mechanism) for slices in parties]
    average = AveragedModel.starting_at(first())
    held = [np.zeros((TEACHERS, len(first())), np.float32) for _ in parties]
    theta, c = first().astype(np.float64), np.zeros(len(first()))
    own = np.zeros((6, len(theta)))
    for number in range(4):
        round = RoundInput(average.theta.astype(np.float32), average.c.astype(np.float32), number)
        told = [one.update(mechanism, round, c_i) for one, c_i in zip(together, held, strict=True)]
        held = [after for _, after in told]
        total = np.sum([steps for steps, _ in told], axis=0)
        average = average.after(mechanism, total, teachers_in=6, teachers=6, records=99)
        state = RoundInput(theta.astype(np.float32), c.astype(np.float32), number)
        slices = [part for party in parties for part in party]
        moved = np.stack(
            [local(part, state, c_i, mechanism) - theta for part, c_i in zip(slices, own, strict=True)]
        )
        new = own - c - moved / (3 * 0.5 * 0.9**number)
        theta, c, own = theta + 0.8 * moved.mean(axis=0), c + (new - own).mean(axis=0), new
    np.testing.assert_allclose(average.theta, theta, atol=1e-5)
    np.testing.assert_allclose(average.c, c, atol=1e-5)
    np.testing.assert_allclose(np.concatenate(held), own, atol=1e-5)


def test_with_clip_party_a_party_says_no_more_than_a_radius() -> None:
    slices, mechanism = parts(), dp_ttac("party", radius=0.05)
    round, variates = start()
    steps, after = teachers(slices, mechanism).update(mechanism, round, variates)
    moved = np.sum(
        [
            local(part, round, c_i, mechanism) - round.theta
            for part, c_i in zip(slices, variates, strict=True)
        ],
        axis=0,
    )
    assert np.linalg.norm(moved) > 0.05
    assert int((steps**2).sum()) <= STEPS**2
    np.testing.assert_allclose(steps / STEPS, moved / np.linalg.norm(moved), atol=1e-4)
    np.testing.assert_array_equal(after, teachers(slices, ttac()).update(ttac(), round, variates)[1])


def test_with_clip_record_a_party_sums_its_records_gradients() -> None:
    slices, mechanism = parts(), dp_ttac("record")
    round, variates = start()
    steps, after = teachers(slices, mechanism).update(mechanism, round, variates)
    each = [
        shorter(gradient(round.theta.astype(np.float64), part.X.astype(np.float64), part.y), 0.5)
        for part in slices
    ]
    np.testing.assert_allclose(
        steps / STEPS, sum(one.sum(axis=0) for one in each) / 0.5, atol=33 / STEPS + 1e-4
    )
    np.testing.assert_allclose(after, [one.mean(axis=0) for one in each], atol=1e-4)


def direction(theta: Floats) -> Floats:
    """Return what of logistic regression's parameters decides a class: no mean over classes, length one."""
    table = np.concatenate(
        [theta[: CLASSES * FEATURES].reshape(CLASSES, -1), theta[CLASSES * FEATURES :, None]], axis=1
    )
    table = table - table.mean(axis=0)
    way: Floats = table / np.linalg.norm(table)
    return way


@MECHANISMS
def test_teachers_end_with_local_steps_of_their_own(mechanism: Ttac | DpTtac) -> None:
    slices = parts()
    round, variates = start(2)
    nets = teachers(slices, mechanism).finish(mechanism, round, variates)
    for net, part, c_i in zip(nets, slices, variates, strict=True):
        wanted = local(part, round, c_i, mechanism)
        np.testing.assert_allclose(direction(vector(net).astype(np.float64)), direction(wanted), atol=1e-3)
        assert np.abs(direction(wanted) - direction(round.theta.astype(np.float64))).max() > 0.01
        assert not net.training


@MECHANISMS
def test_the_same_again_is_the_same(mechanism: Ttac | DpTtac) -> None:
    round, variates = start(1)
    (steps, after), (again, twice) = (
        teachers(parts(), mechanism).update(mechanism, round, variates) for _ in range(2)
    )
    np.testing.assert_array_equal(steps, again)
    np.testing.assert_array_equal(after, twice)


@MECHANISMS
def test_a_teacher_learns_from_its_own_records_alone(mechanism: Ttac | DpTtac) -> None:
    slices, changed = parts(), parts()
    changed[1] = parts(seed=9)[1]
    round, variates = start()
    ours, theirs = (
        teachers(held, mechanism).finish(mechanism, round, variates) for held in (slices, changed)
    )
    np.testing.assert_array_equal(vector(ours[0]), vector(theirs[0]))
    assert not np.array_equal(vector(ours[1]), vector(theirs[1]))


def test_a_teacher_whose_steps_leave_all_numbers_stays_where_it_was() -> None:
    mechanism = ttac(learning_rate=1e30)
    slices = parts()
    slices[0] = Slice(np.full_like(slices[0].X, 1e30), slices[0].y, slices[0].entropy)
    round, variates = start()
    steps, after = teachers(slices, mechanism).update(mechanism, round, variates)
    assert np.isfinite(after).all()
    np.testing.assert_allclose(after[0], variates[0] - round.c, atol=1e-7)
    assert len(steps) == len(round.theta)


def test_first_parameters_depend_on_the_seed_alone() -> None:
    one, again, other = (first_parameters("mlp", (FEATURES,), CLASSES, seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(one, again)
    assert one.dtype == np.float32
    assert not np.array_equal(one, other)


def test_heads_for_encrypted_queries_stay_in_range() -> None:
    mechanism = ttac(model="square-mlp")
    d = len(first("square-mlp"))
    round = RoundInput(first("square-mlp"), np.zeros(d, np.float32), 0)
    config = CONFIG.model_copy(update={"head": "square-mlp"})
    learning = JointTeachers(parts(), "square-mlp", CLASSES, config, mechanism.recipe)
    nets = learning.finish(mechanism, round, np.zeros((TEACHERS, d), np.float32))
    for net, part in zip(nets, parts(), strict=True):
        assert float(net(torch.from_numpy(part.X)).detach().abs().max()) < LOGIT_RANGE + 1e-5


def test_a_network_with_more_state_than_parameters_is_refused() -> None:
    """Running means of a batch normalisation are not parameters, and mix records."""
    with pytest.raises(OstrakaError) as error:
        first_parameters("tests.services.teachers.joint.examples:with_buffers", (FEATURES,), CLASSES, 0)
    assert error.value.code == ErrorCode.MODEL_INVALID


@pytest.mark.parametrize("settings", [{"epochs": 3}, {"held_out": 0.1}, {"balanced": True}])
def test_settings_of_teachers_that_learn_apart_are_refused(settings: dict[str, float]) -> None:
    with pytest.raises(OstrakaError, match=next(iter(settings))) as error:
        JointTeachers(parts(), "logistic", CLASSES, TrainingConfig(teachers=2, **settings), recipe())
    assert error.value.code == ErrorCode.CONFIG_INVALID


EXAMPLES = "tests.services.teachers.joint.examples:"


def with_one_that_fails() -> list[Slice]:
    """Return the usual parts, one record of which makes `picky` raise."""
    slices = parts()
    slices[0].X[3] = Picky.FORBIDDEN
    return slices


def test_a_record_for_which_a_network_raises_adds_nothing_and_changes_nothing_else() -> None:
    mechanism = dp_ttac("record", model=f"{EXAMPLES}picky")
    round, variates = start()
    _failures.cache_clear()
    with structlog.testing.capture_logs() as logs:
        steps, after = teachers(with_one_that_fails(), mechanism).update(mechanism, round, variates)
    assert logs == [
        {"event": "teacher.failed", "log_level": "warning", "problem": "ValueError", "adds": "nothing"}
    ]
    others = parts()
    gone = Slice(others[0].X[3:4], others[0].y[3:4], others[0].entropy)
    whole, _ = teachers(others, mechanism).update(mechanism, round, variates)
    alone, _ = teachers([gone], mechanism).update(mechanism, round, variates[:1])
    np.testing.assert_array_equal(steps, whole - alone)
    assert np.isfinite(after).all()


@pytest.mark.parametrize("clip", ["record", "party", None])
def test_a_teacher_whose_network_raises_takes_part_all_the_same(clip: str | None) -> None:
    model = f"{EXAMPLES}picky"
    mechanism = ttac(model=model, steps=8) if clip is None else dp_ttac(clip, model=model, steps=8)
    round, variates = start()
    failing = teachers(with_one_that_fails(), mechanism).finish(mechanism, round, variates)
    usual = teachers(parts(), mechanism).finish(mechanism, round, variates)
    np.testing.assert_array_equal(vector(failing[1]), vector(usual[1]))
    if clip != "record":
        np.testing.assert_array_equal(vector(failing[0]), round.theta)
        steps, _ = teachers(with_one_that_fails(), mechanism).update(mechanism, round, variates)
        assert steps.any()


def test_a_network_without_gradients_by_record_is_refused_whatever_the_records() -> None:
    model = f"{EXAMPLES}curious"
    round, variates = start()
    by_record, by_party = dp_ttac("record", model=model), dp_ttac("party", model=model)
    with pytest.raises(OstrakaError, match="choose --clip party") as refused:
        teachers(parts(), by_record).update(by_record, round, variates)
    assert refused.value.code is ErrorCode.MODEL_INVALID
    assert teachers(parts(), by_party).update(by_party, round, variates)[0].any()


@pytest.mark.parametrize("clip", ["record", "party"])
def test_a_device_that_fails_adds_nothing_in_silence_in_no_round(
    cards: FakeCards, monkeypatch: pytest.MonkeyPatch, clip: str
) -> None:
    mechanism = dp_ttac(clip)
    round, variates = start()
    learning = teachers(parts(), mechanism, device=Device("cuda"))
    usual, _ = learning.update(mechanism, round, variates)
    for failing in ({"calls": 100}, {"failure": GONE}, {"others": cards.memory}):
        vars(cards).update(failing)
        with pytest.raises(OstrakaError) as refused:
            learning.update(mechanism, round, variates)
        assert refused.value.code is ErrorCode.SERVER_DEVICE_GONE
        vars(cards).update(calls=None, failure=None, others=0)
    once = [torch.OutOfMemoryError("full")]

    def short(net: torch.nn.Module, theta: NDArray[np.float32]) -> None:
        if once:
            raise once.pop()
        set_vector(net, theta)

    # Memory that was short for a moment changes nothing.
    monkeypatch.setattr(joint_training, "set_vector", short)
    again, _ = learning.update(mechanism, round, variates)
    np.testing.assert_array_equal(again, usual)
    assert not once
