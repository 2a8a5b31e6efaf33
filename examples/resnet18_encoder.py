"""A public encoder: ResNet-18 without its last layer, 512 features of an image.

Its parameters have the names of torchvision's, so that published weights load. Every site needs the same file
of weights; its path stands in the environment variable RESNET18_WEIGHTS. Name it as
`encoder = "resnet18_encoder:encoder"` in site.toml, with this file's folder on PYTHONPATH.
"""

import os

import torch
from torch import Tensor, nn
from torch.nn import functional

SIDE = 28
"""Pixels along a side of the task's images, which are grey, from 0 to 1."""
SIDE_OF_RESNET = 224
MEAN, DEVIATION = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
"""Of the colours that the published weights were trained on."""


class BasicBlock(nn.Module):
    """Two convolutions around which the input is added."""

    def __init__(self, inputs: int, outputs: int, stride: int) -> None:
        """Take the number of channels of what goes in and comes out."""
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(outputs)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(outputs)
        self.downsample: nn.Module = nn.Identity()
        if stride > 1 or inputs != outputs:
            shortcut = nn.Conv2d(inputs, outputs, 1, stride, bias=False)
            self.downsample = nn.Sequential(shortcut, nn.BatchNorm2d(outputs))

    def forward(self, x: Tensor) -> Tensor:
        """Return (n, outputs, height / stride, width / stride) of (n, inputs, height, width)."""
        inner = functional.relu(self.bn1(self.conv1(x)))
        return functional.relu(self.bn2(self.conv2(inner)) + self.downsample(x))


class ResNet18(nn.Module):
    """From flat grey images (n, SIDE * SIDE) to features (n, 512)."""

    def __init__(self) -> None:
        """Take random weights."""
        super().__init__()
        self.conv1 = nn.Conv2d(3, 64, 7, 2, 3, bias=False)
        self.bn1 = nn.BatchNorm2d(64)
        self.layer1 = _stage(64, 64, 1)
        self.layer2 = _stage(64, 128, 2)
        self.layer3 = _stage(128, 256, 2)
        self.layer4 = _stage(256, 512, 2)

    def forward(self, x: Tensor) -> Tensor:
        """Return the features of images."""
        grey = x.reshape(-1, 1, SIDE, SIDE)
        large = functional.interpolate(grey, size=SIDE_OF_RESNET, mode="bilinear", align_corners=False)
        colours = (torch.tensor(values, device=x.device) for values in (MEAN, DEVIATION))
        mean, deviation = (values.reshape(1, 3, 1, 1) for values in colours)
        found = functional.relu(self.bn1(self.conv1((large - mean) / deviation)))
        found = functional.max_pool2d(found, 3, 2, 1)
        for stage in (self.layer1, self.layer2, self.layer3, self.layer4):
            found = stage(found)
        return found.mean(dim=(2, 3))


def encoder() -> nn.Module:
    """Return the network with the weights of the file that RESNET18_WEIGHTS names."""
    network = ResNet18()
    weights = torch.load(os.environ["RESNET18_WEIGHTS"], weights_only=True)
    network.load_state_dict({name: value for name, value in weights.items() if not name.startswith("fc.")})
    return network


def _stage(inputs: int, outputs: int, stride: int) -> nn.Sequential:
    return nn.Sequential(BasicBlock(inputs, outputs, stride), BasicBlock(outputs, outputs, 1))
