"""The weak and strong views that suit records of a shape."""

from typing import Protocol

import torch
from torch import Tensor

from ostraka.common.learning.image_views import ImageViews
from ostraka.common.learning.row_views import Tables
from ostraka.common.learning.shape import Shape, pictured


class Augmentation(Protocol):
    """Draws views of scaled flat rows (n, F) in which a person would still see the same class."""

    def weak(self, x: Tensor, random: torch.Generator) -> Tensor:
        """Return views close to the records, (n, F)."""

    def strong(self, x: Tensor, random: torch.Generator) -> Tensor:
        """Return views far from the records, (n, F)."""


def augmentation(shape: Shape) -> Augmentation:
    """Of images for records of an image's shape, else of tables."""
    axes = pictured(shape)
    return Tables() if axes is None else ImageViews(axes)
