import pytest
import torch
from torch import Tensor, nn

from ostraka.client.students.mixmatch import MixMatchObjective, mix, sharpen
from ostraka.common.datasets.label_columns import UNKNOWN
from ostraka.common.learning.objective import TrainingStep


class Same:
    """Views that are the records themselves, so that losses can be worked out."""

    def weak(self, x: Tensor, random: torch.Generator) -> Tensor:
        return x

    def strong(self, x: Tensor, random: torch.Generator) -> Tensor:
        return x


class Shifted(Same):
    """Each further view is one more away."""

    def __init__(self) -> None:
        self.drawn = 0

    def weak(self, x: Tensor, random: torch.Generator) -> Tensor:
        self.drawn += 1
        return x + self.drawn


UNMIXED = 1e-6
"""Of a Beta distribution that draws 0 or 1: records stay as they are."""


def random(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def loss(
    objective: MixMatchObjective, net: nn.Module, known: tuple[Tensor, Tensor], pool: Tensor, number: int = 9
) -> float:
    return objective.loss(net, known, pool, TrainingStep(number, 10, random())).item()


def test_sharpening_of_classes_by_half_squares_them() -> None:
    sharp = sharpen(torch.tensor([[0.6, 0.3, 0.1]]), 0.5, multi_label=False)
    torch.testing.assert_close(sharp, torch.tensor([[0.36, 0.09, 0.01]]) / 0.46)


def test_sharpening_of_labels_squares_each_against_its_own_opposite() -> None:
    sharp = sharpen(torch.tensor([[0.6, 0.3, 0.5]]), 0.5, multi_label=True)
    torch.testing.assert_close(sharp, torch.tensor([[0.36 / 0.52, 0.09 / 0.58, 0.5]]))


@pytest.mark.parametrize("multi_label", [False, True])
def test_certainty_stays_and_temperature_1_changes_nothing(multi_label: bool) -> None:
    likely = torch.tensor([[1.0, 0.0], [0.25, 0.75]])
    torch.testing.assert_close(sharpen(likely, 1.0, multi_label=multi_label), likely, atol=1e-5, rtol=0)
    sharp = sharpen(likely, 0.5, multi_label=multi_label)
    torch.testing.assert_close(sharp[0], likely[0], atol=1e-5, rtol=0)


def test_a_mixture_is_mostly_its_own_record_and_mixes_labels_alike() -> None:
    identity = torch.eye(200)
    mixed, targets = mix(identity, identity, 0.75, random())
    assert torch.equal(mixed, targets)
    torch.testing.assert_close(mixed.sum(dim=1), torch.ones(200))
    own = mixed.diagonal()
    assert (own >= 0.5).all()
    assert 0.6 < own.mean() < 0.95


def test_mixtures_follow_their_generator() -> None:
    x = torch.randn(8, 3, generator=random())
    once, again, other = (mix(x, x, 0.75, random(seed))[0] for seed in (1, 1, 2))
    assert torch.equal(once, again)
    assert not torch.equal(once, other)


def test_a_guess_is_the_mean_over_views() -> None:
    net = nn.Linear(1, 2, bias=False)
    objective = MixMatchObjective(Shifted(), temperature=1.0, mixing=UNMIXED, weight=1.0, ramp=0.01)
    with torch.no_grad():
        net.weight.copy_(torch.tensor([[1.0], [0.0]]))
    pool = torch.zeros(1, 1)
    guess = (torch.tensor(1.0).sigmoid() + torch.tensor(2.0).sigmoid()) / 2
    squared = sum((torch.tensor(view).sigmoid() - guess) ** 2 for view in (1.0, 2.0))
    certain = (torch.full((1, 1), 50.0), torch.tensor([[1.0, 0.0]]))
    assert loss(objective, net, certain, pool) == pytest.approx(float(squared), rel=1e-4)


def test_unlabeled_records_weigh_more_as_training_goes_on() -> None:
    net = nn.Linear(1, 2, bias=False)
    objective = MixMatchObjective(Same(), mixing=UNMIXED, weight=2.0, ramp=0.5)
    certain = (torch.zeros(1, 1), torch.tensor([[1.0, 0.0]]))
    pool = torch.ones(4, 1)
    first, third, fifth, last = (loss(objective, net, certain, pool, number) for number in (0, 2, 4, 9))
    supervised = first - (third - first) / 2
    assert supervised == pytest.approx(torch.tensor(2.0).log().item())
    assert fifth - supervised == pytest.approx(5 * (first - supervised), rel=1e-3)
    assert last == pytest.approx(fifth)


def test_what_a_labelled_record_has_no_answer_for_is_guessed() -> None:
    net = nn.Linear(1, 2, bias=False)
    with torch.no_grad():
        net.weight.copy_(torch.tensor([[0.0], [2.0]]))
    objective = MixMatchObjective(Same(), multi_label=True, mixing=UNMIXED, weight=1.0, ramp=0.01)
    half = (torch.ones(1, 1), torch.tensor([[1.0, float(UNKNOWN)]]))
    likely = torch.tensor(2.0).sigmoid()
    guess = likely**2 / (likely**2 + (1 - likely) ** 2)
    squares = (likely - guess) ** 2
    of_two_views = 2 * squares
    expected = torch.tensor(2.0).log() + 2 * (squares + of_two_views) / 5
    assert loss(objective, net, half, torch.ones(1, 1)) == pytest.approx(expected.item(), rel=1e-3)


def test_without_unlabeled_records_only_labels_are_learned() -> None:
    net = nn.Linear(1, 2, bias=False)
    known = (torch.zeros(3, 1), torch.eye(2)[[0, 1, 0]])
    found = loss(MixMatchObjective(Same()), net, known, torch.zeros(0, 1))
    assert found == pytest.approx(torch.tensor(2.0).log().item())
