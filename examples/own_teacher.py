"""A teacher of one's own: a PyTorch network for small images, trained by `ostraka party train`.

`--model own_teacher:teacher`, with this file's folder on PYTHONPATH, has every site make its teachers by this
function. Group normalization is over one record: batch normalization would make a vote depend on other
queries.
"""

from torch import nn


def teacher(shape: tuple[int, ...], classes: int) -> nn.Module:
    """Return an untrained network from records of this shape, (8, 8) here, to a score for each class."""
    height, width = shape
    return nn.Sequential(
        *(nn.Unflatten(1, (1, height)), nn.Conv2d(1, 8, 3, padding=1), nn.GroupNorm(2, 8), nn.ReLU()),
        *(nn.MaxPool2d(2), nn.Flatten()),
        nn.Linear(8 * (height // 2) * (width // 2), classes),
    )
