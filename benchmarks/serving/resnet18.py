"""A network of ResNet-18's size, as a party's factory."""

import torch
from torch import Tensor, nn

CHANNELS = (64, 128, 256, 512)


class Block(nn.Module):
    """Two convolutions whose output is added to their input, which is converted to the same shape."""

    def __init__(self, before: int, channels: int, stride: int) -> None:
        """Take the input's channels, the output's channels, and the stride."""
        super().__init__()
        self.change = nn.Sequential(
            nn.Conv2d(before, channels, 3, stride=stride, padding=1, bias=False),
            nn.BatchNorm2d(channels),
            nn.ReLU(),
            nn.Conv2d(channels, channels, 3, padding=1, bias=False),
            nn.BatchNorm2d(channels),
        )
        self.input = nn.Sequential()
        if before != channels:
            shortcut = nn.Conv2d(before, channels, 1, stride=stride, bias=False)
            self.input = nn.Sequential(shortcut, nn.BatchNorm2d(channels))

    def forward(self, X: Tensor) -> Tensor:
        """Map images (Q, before, height, width) to (Q, channels, height / stride, width / stride)."""
        return torch.relu(self.change(X) + self.input(X))


def resnet18(shape: tuple[int, ...], classes: int) -> nn.Module:
    """Build ResNet-18 for small images (channels, height, width), without shrinking first (He et al., 2016).

    It has 11 million weights.
    """
    first = nn.Conv2d(shape[0], CHANNELS[0], 3, padding=1, bias=False)
    blocks: list[nn.Module] = []
    before = CHANNELS[0]
    for channels in CHANNELS:
        stride = 1 if channels == before else 2
        blocks += [Block(before, channels, stride), Block(channels, channels, 1)]
        before = channels
    head = (nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(before, classes))
    return nn.Sequential(first, nn.BatchNorm2d(before // 8), nn.ReLU(), *blocks, *head)
