import numpy as np
import torch
from torch import Tensor, nn

from ostraka.common.datasets.label_columns import UNKNOWN
from ostraka.common.learning.data import Labelled
from ostraka.common.learning.early_stopping import EarlyStopping, Validation, balance, worse
from ostraka.common.learning.learning import Look
from ostraka.common.learning.optimization import MovingAverage

CPU = torch.device("cpu")


class Bias(nn.Module):
    """Says class 1 of a share of the records: those whose value is below its one weight."""

    def __init__(self, weight: float) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.tensor(weight))

    def forward(self, x: Tensor) -> Tensor:
        return torch.cat([x, self.weight.expand(len(x), 1)], dim=1)


def records(n: int) -> Labelled:
    """Values 0 to 1, all of class 1."""
    return Labelled(np.linspace(0, 1, n, dtype=np.float32)[:, None], np.ones(n, np.int64))


def watched(n: int, *weights: float, patience: int = 2) -> tuple[EarlyStopping, Bias]:
    watch = EarlyStopping(records(n), patience, CPU)
    net = Bias(0.0)
    for step, weight in enumerate(weights, 1):
        nn.init.constant_(net.weight, weight)
        watch.looks.append(Look(step, 0.0, watch.look(net, step)))
    return watch, net


def test_a_network_that_gets_worse_is_given_back_its_best_weights() -> None:
    watch, net = watched(500, 0.6, 0.9, 0.5)
    assert watch.keep(net) == 2
    assert net.weight.item() == np.float32(0.9)
    assert [round(look.error or 0, 1) for look in watch.looks] == [0.4, 0.1, 0.5]


def test_it_learns_no_more_after_patience() -> None:
    assert not watched(500, 0.9, 0.5)[0].enough
    assert watched(500, 0.9, 0.5, 0.5)[0].enough
    assert not watched(500, 0.9, 0.5, 0.9, 0.5)[0].enough


def test_few_records_do_not_tell_and_the_end_is_kept() -> None:
    watch, net = watched(5, 0.9, 0.5, 0.5, 0.5)
    assert watch.keep(net) == 4
    assert net.weight.item() == 0.5
    assert not watch.enough


def test_without_records_the_end_is_kept() -> None:
    watch, net = EarlyStopping(None, 1, CPU), Bias(0.5)
    assert watch.look(net, 1) is None
    watch.looks.append(Look(1, 0.0, None))
    assert watch.keep(net) == 1


def test_differences_of_chance_are_none() -> None:
    random = np.random.default_rng(0)
    worse_by_chance = sum(
        worse(random.binomial(1, 0.1, 300).astype(float), random.binomial(1, 0.1, 300).astype(float))
        for _ in range(200)
    )
    assert worse_by_chance < 25
    assert worse(random.binomial(1, 0.3, 300).astype(float), random.binomial(1, 0.1, 300).astype(float))


def test_the_error_of_labels_is_one_less_their_mean_balanced_accuracy() -> None:
    from sklearn.metrics import balanced_accuracy_score

    random = np.random.default_rng(0)
    y, said = (random.binomial(1, [0.1, 0.5, 0.8], (400, 3)) for _ in range(2))
    expected = 1 - np.mean([balanced_accuracy_score(*columns) for columns in zip(y.T, said.T, strict=True)])
    np.testing.assert_allclose(((y != said) * balance(y)).sum(axis=1).mean(), expected)


def test_unknown_labels_are_no_mistakes() -> None:
    y = np.array([[1, UNKNOWN], [0, UNKNOWN], [1, 1]])
    found = Validation(Labelled(np.zeros((3, 1), np.float32), y), CPU).mistakes(nn.Linear(1, 2))
    assert found.shape == (3,)
    assert not balance(y)[:2, 1].any()


def test_an_average_follows_and_ends_where_the_network_stays() -> None:
    net = nn.BatchNorm1d(2)
    average = MovingAverage(net, 0.9)
    nn.init.constant_(net.weight, 3.0)
    net(torch.randn(8, 2))
    for step in range(300):
        average.follow(step)
    torch.testing.assert_close(average.net.state_dict(), net.state_dict())


def test_an_average_moves_by_the_part_it_does_not_keep() -> None:
    net = nn.Linear(1, 1)
    nn.init.constant_(net.weight, 0.0)
    average = MovingAverage(net, 0.9)
    nn.init.constant_(net.weight, 1.0)
    average.follow(1000)
    torch.testing.assert_close(next(average.net.parameters()).item(), 0.1, atol=1e-6, rtol=0)
