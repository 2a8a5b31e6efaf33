import torch
from torch import Tensor, nn

from ostraka.common.datasets.label_columns import UNKNOWN
from ostraka.common.learning.augmentation import augmentation
from ostraka.common.learning.fixmatch import FixMatchObjective
from ostraka.common.learning.objective import TrainingStep, losses, probabilities


class Fixed(nn.Module):
    """Says the same logits of every record: those of its first value."""

    def __init__(self, logits: Tensor) -> None:
        super().__init__()
        self.logits = nn.Parameter(logits)

    def forward(self, x: Tensor) -> Tensor:
        return self.logits.expand(len(x), -1)


def step() -> TrainingStep:
    return TrainingStep(0, 10, torch.Generator().manual_seed(0))


def test_loss_of_soft_targets_is_their_cross_entropy() -> None:
    logits, targets = torch.tensor([[2.0, 0.0, -1.0]]), torch.tensor([[0.7, 0.2, 0.1]])
    expected = -(targets * torch.log_softmax(logits, dim=1)).sum()
    torch.testing.assert_close(losses(logits, targets, multi_label=False).sum(), expected)


def test_unknown_labels_count_for_nothing() -> None:
    logits = torch.tensor([[2.0, -9.0], [1.0, 1.0]])
    targets = torch.tensor([[1.0, UNKNOWN], [UNKNOWN, UNKNOWN]])
    found = losses(logits, targets, multi_label=True)
    torch.testing.assert_close(found, torch.stack([-torch.sigmoid(logits[0, 0]).log(), torch.tensor(0.0)]))


def test_probabilities_of_classes_add_up_and_those_of_labels_stand_alone() -> None:
    logits = torch.tensor([[0.0, 0.0]])
    assert probabilities(logits, multi_label=False).tolist() == [[0.5, 0.5]]
    assert probabilities(torch.tensor([[0.0, 99.0]]), multi_label=True).tolist() == [[0.5, 1.0]]


def unlabeled_loss(logits: list[float], *, multi_label: bool) -> tuple[float, Tensor]:
    """FixMatch's loss of records without labels, and its slope by the network's logits."""
    net = Fixed(torch.tensor(logits))
    objective = FixMatchObjective(augmentation((4,)), multi_label, threshold=0.9)
    x = torch.randn(5, 4)
    nothing = torch.full((5, len(logits)), float(UNKNOWN) if multi_label else 0.0)
    loss = objective.loss(net, (x, nothing), torch.randn(20, 4), step())
    loss.backward()  # type: ignore[no-untyped-call]
    assert net.logits.grad is not None
    return loss.item(), net.logits.grad


def test_what_the_network_is_not_sure_of_teaches_nothing() -> None:
    loss, slope = unlabeled_loss([1.0, 0.0], multi_label=False)
    assert loss == 0
    assert not slope.any()


def test_what_the_network_is_sure_of_is_learned() -> None:
    loss, slope = unlabeled_loss([3.0, 0.0], multi_label=False)
    assert 0 < loss < 0.1
    assert slope[0] < 0 < slope[1]


def test_each_label_is_guessed_by_itself() -> None:
    _, slope = unlabeled_loss([3.0, 0.5, -3.0], multi_label=True)
    assert slope[0] < 0
    assert slope[1] == 0
    assert slope[2] > 0
