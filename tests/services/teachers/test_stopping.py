from collections.abc import Iterator

import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from ostraka.services.teachers.assignment import Slice
from ostraka.services.teachers.fitting import Stopping, hold_out
from ostraka.services.teachers.layouts.layouts import Alone
from ostraka.services.teachers.losses import Loss

STEP = (torch.zeros(1, 1, 1), torch.zeros(1, 1, dtype=torch.int64))


def part(records: int, seed: int = 0) -> Slice:
    random = np.random.default_rng(seed)
    return Slice(random.random((records, 1)).astype(np.float32), random.integers(0, 2, records), (3, 4))


def constant(logit: float) -> nn.Linear:
    """Says class 1 with this logit, whatever it is asked."""
    net = nn.Linear(1, 2)
    with torch.no_grad():
        net.weight.zero_()
        net.bias.copy_(torch.tensor([0.0, logit]))
    return net


def of_class_one() -> Slice:
    return Slice(np.zeros((2, 1), np.float32), np.ones(2, np.int64), (0,))


def steps(net: nn.Linear, logits: list[float], watched: Iterator[object]) -> int:
    """Set the logit of every step that is trained; return how many were."""
    done = 0
    for done, _ in enumerate(watched, start=1):
        set_logit(net, logits[done - 1])
    return done


@torch.no_grad()
def set_logit(net: nn.Linear, value: float) -> None:
    net.bias[1] = value


@torch.no_grad()
def set_weight(net: nn.Linear, value: float) -> None:
    net.weight[0] = value


@given(st.integers(1, 60), st.sampled_from([0.0, 0.1, 0.3, 0.5]))
def test_a_slice_is_shown_and_held_out_without_overlap_and_never_all_held_out(
    records: int, share: float
) -> None:
    whole = part(records)
    shown, held = hold_out(whole, share)
    assert len(held.y) == int(share * records)
    assert len(shown.y) > 0
    together = np.concatenate([shown.X, held.X])
    assert np.array_equal(np.sort(together, axis=0), np.sort(whole.X, axis=0))


def test_which_rows_are_held_out_depends_on_no_record() -> None:
    rows = []
    for seed in (0, 1):
        whole = part(20, seed)
        rows.append(np.flatnonzero(np.isin(whole.X, hold_out(whole, 0.25)[1].X)).tolist())
    assert len(rows[0]) == 5
    assert rows[0] == rows[1]


def test_a_network_stops_after_its_patience_and_stays_as_it_was_at_its_best() -> None:
    net = constant(0.0)
    stopping = Stopping([net], Alone(net), [of_class_one()], Loss(), patience=2)
    logits = [1.0, 3.0, 2.0, 1.0, 9.0, 9.0]
    assert steps(net, logits, stopping.watch(iter([STEP] * 6), pace=1)) == 4
    assert stopping.shown == 4
    stopping.restore()
    assert net.bias[1].item() == 3.0


def test_a_network_that_waited_its_patience_out_does_not_follow_the_one_beside_it() -> None:
    nets = [constant(0.0), constant(0.0)]
    stopping = Stopping(nets, Alone(nets[0]), [of_class_one()] * 2, Loss(), patience=1)
    course = [(2.0, 1.0), (1.0, 2.0), (9.0, 3.0)]
    watched = stopping.watch(iter([STEP] * 3), pace=1)
    for _, values in zip(watched, course, strict=True):
        for net, value in zip(nets, values, strict=True):
            set_logit(net, value)
    stopping.restore()
    assert [net.bias[1].item() for net in nets] == [2.0, 3.0]


def test_without_anything_held_out_networks_stay_as_they_end() -> None:
    net = constant(0.0)
    empty = Slice(np.zeros((0, 1), np.float32), np.zeros(0, np.int64), (0,))
    stopping = Stopping([net], Alone(net), [empty], Loss(), patience=1)
    assert steps(net, [3.0, 2.0, 1.0], stopping.watch(iter([STEP] * 3), pace=1)) == 3
    stopping.restore()
    assert net.bias[1].item() == 1.0


def test_a_network_whose_loss_is_never_a_number_does_not_follow_the_one_beside_it() -> None:
    kept = []
    for steps_of_the_other in ([1.0, 0.0], [1.0, 2.0, 3.0, 4.0]):
        nets = [constant(0.0), constant(0.0)]
        stopping = Stopping(nets, Alone(nets[0]), [of_class_one()] * 2, Loss(), patience=1)
        watched = stopping.watch(iter([STEP] * 4), pace=1)
        for done, (_, value) in enumerate(zip(watched, steps_of_the_other, strict=False)):
            set_logit(nets[0], -float("inf"))
            set_weight(nets[0], float(done))
            set_logit(nets[1], value)
        stopping.restore()
        kept.append(nets[0].weight[0].item())
    assert kept == [0.0, 0.0]


def test_a_network_of_which_nothing_is_held_out_stays_as_it_ends_beside_one_that_is_looked_at() -> None:
    nets = [constant(0.0), constant(0.0)]
    empty = Slice(np.zeros((0, 1), np.float32), np.zeros(0, np.int64), (0,))
    stopping = Stopping(nets, Alone(nets[0]), [empty, of_class_one()], Loss(), patience=1)
    watched = stopping.watch(iter([STEP] * 3), pace=1)
    for _, values in zip(watched, [(3.0, 1.0), (2.0, 4.0), (1.0, 3.0)], strict=True):
        for net, value in zip(nets, values, strict=True):
            set_logit(net, value)
    stopping.restore()
    assert [net.bias[1].item() for net in nets] == [1.0, 4.0]


def test_losses_that_are_no_numbers_end_a_training() -> None:
    net = constant(0.0)
    stopping = Stopping([net], Alone(net), [of_class_one()], Loss(), patience=2)
    assert steps(net, [float("nan")] * 6, stopping.watch(iter([STEP] * 6), pace=1)) == 2
