import pytest
import torch
from torch import nn
from torch.nn import functional

from ostraka.client.students.vat import VatObjective, divergence, without_tracking
from ostraka.common.learning.augmentation import augmentation
from ostraka.common.learning.networks import network
from ostraka.common.learning.objective import TrainingStep

ROWS, FEATURES, OUTPUTS = 16, 12, 3


def vat(*, multi_label: bool = False, radius: float = 0.25, iterations: int = 1) -> VatObjective:
    return VatObjective(augmentation((FEATURES,)), multi_label, radius, iterations)


def random(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def rows(seed: int = 1) -> torch.Tensor:
    return torch.randn(ROWS, FEATURES, generator=random(seed))


def said_by(net: nn.Module, x: torch.Tensor) -> torch.Tensor:
    with torch.no_grad(), without_tracking(net):
        said: torch.Tensor = net(x).softmax(dim=1)
    return said


def test_divergence_of_classes_is_that_of_torch() -> None:
    said = torch.randn(5, 4, generator=random()).softmax(dim=1)
    logits = torch.randn(5, 4, generator=random(1))
    expected = functional.kl_div(logits.log_softmax(dim=1), said, reduction="none").sum(dim=1)
    torch.testing.assert_close(divergence(said, logits, multi_label=False), expected)


def test_divergence_of_labels_is_the_mean_of_two_classes_each() -> None:
    said, logits = torch.rand(5, 4, generator=random()), torch.randn(5, 4, generator=random(1))
    two = torch.stack([said, 1 - said], dim=2)
    pairs = torch.stack([logits, torch.zeros_like(logits)], dim=2).log_softmax(dim=2)
    expected = functional.kl_div(pairs, two, reduction="none").sum(dim=2).mean(dim=1)
    torch.testing.assert_close(divergence(said, logits, multi_label=True), expected)


@pytest.mark.parametrize("multi_label", [False, True])
def test_nothing_diverges_from_itself_even_where_it_is_certain(multi_label: bool) -> None:
    logits = torch.tensor([[200.0, -200.0], [0.0, 0.0]])
    said = logits.sigmoid() if multi_label else logits.softmax(dim=1)
    found = divergence(said, logits, multi_label=multi_label)
    torch.testing.assert_close(found, torch.zeros(2), atol=1e-6, rtol=0)


def test_the_search_finds_the_worst_direction_of_a_linear_network() -> None:
    net = nn.Linear(FEATURES, 2)
    x = rows()
    found = vat(iterations=3, radius=0.01).perturbation(net, x, said_by(net, x), random())
    worst = (net.weight[0] - net.weight[1]).detach()
    alignment = functional.cosine_similarity(found, worst.expand_as(found)).abs()
    assert alignment.min() > 0.999


def test_perturbations_have_their_radius_and_are_worse_than_drawn_ones() -> None:
    net = network((FEATURES,), OUTPUTS)
    x, radius = rows(), 0.1
    said = said_by(net, x)
    found = vat(radius=radius).perturbation(net, x, said, random())
    torch.testing.assert_close(found.square().mean(dim=1).sqrt(), torch.full((ROWS,), radius))
    drawn = radius * torch.randn(x.shape, generator=random(2)).sign()
    with torch.no_grad(), without_tracking(net):
        worst, other = (
            divergence(said, net(x + moved), multi_label=False).mean() for moved in (found, drawn)
        )
    assert worst > 2 * other


def test_the_search_leaves_no_trace_in_the_network() -> None:
    net = network((FEATURES,), OUTPUTS)
    before = {name: value.clone() for name, value in net.state_dict().items()}
    vat(iterations=2).perturbation(net, rows(), said_by(net, rows()), random())
    assert all(torch.equal(value, before[name]) for name, value in net.state_dict().items())
    assert all(parameter.grad is None for parameter in net.parameters())
    net(rows())
    assert any(not torch.equal(value, before[name]) for name, value in net.state_dict().items())


@pytest.mark.parametrize("multi_label", [False, True])
def test_a_loss_is_a_number_that_teaches_every_weight(multi_label: bool) -> None:
    net = network((FEATURES,), OUTPUTS)
    classes = torch.arange(ROWS) % OUTPUTS
    targets = functional.one_hot(classes, OUTPUTS).float()
    loss = vat(multi_label=multi_label).loss(net, (rows(), targets), rows(3), TrainingStep(0, 10, random()))
    loss.backward()  # type: ignore[no-untyped-call]
    assert loss.isfinite()
    assert all(part.grad is not None and part.grad.abs().sum() > 0 for part in net.parameters())


def test_without_unlabeled_records_only_labels_are_learned() -> None:
    net = network((FEATURES,), OUTPUTS)
    targets = functional.one_hot(torch.arange(ROWS) % OUTPUTS, OUTPUTS).float()
    loss = vat().loss(net, (rows(), targets), rows()[:0], TrainingStep(9, 10, random(5)))
    expected = functional.cross_entropy(net(augmentation((FEATURES,)).weak(rows(), random(5))), targets)
    torch.testing.assert_close(loss, expected)
