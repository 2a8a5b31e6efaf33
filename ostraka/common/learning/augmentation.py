"""Weak and strong views of a record, depending on its shape: of images, and of rows of tables."""

from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor
from torch.nn import functional

from ostraka.common.learning.shape import Axes, Shape, picture_axes


@dataclass(frozen=True)
class Extent:
    """How far a view may differ from its record.

    Attributes:
        turn: degrees, either way.
        shift: part of a side, either way.
        scale: relative growth or shrinkage of each side.
        shear: shift of rows, as a part of the height.
        contrast: relative change of the values' spread.
        brightness: added to all values, in deviations of the values.
        cutout: maximum part of a side that is covered.
    """

    turn: float
    shift: float
    scale: float
    shear: float
    contrast: float = 0.0
    brightness: float = 0.0
    cutout: float = 0.0


WEAK = Extent(turn=8, shift=1 / 14, scale=0.08, shear=0.05)
STRONG = Extent(turn=25, shift=1 / 8, scale=0.2, shear=0.25, contrast=0.4, brightness=0.3, cutout=0.5)


@dataclass(frozen=True)
class ImageViews:
    """Views of images given as flat scaled rows; never mirrored, because digits and letters have sides."""

    axes: Axes

    def weak(self, x: Tensor, random: torch.Generator) -> Tensor:
        """Return rows (n, F), each moved a little."""
        return self._flat(_move(self._images(x), WEAK, random))

    def strong(self, x: Tensor, random: torch.Generator) -> Tensor:
        """Return rows (n, F), each moved further, with another contrast, and partly covered."""
        images = _move(self._images(x), STRONG, random)
        return self._flat(_cover(_change_contrast(images, STRONG, random), STRONG, random))

    def _images(self, x: Tensor) -> Tensor:
        channels, height, width, last = self.axes
        if last:
            return x.reshape(-1, height, width, channels).movedim(-1, 1)
        return x.reshape(-1, channels, height, width)

    def _flat(self, images: Tensor) -> Tensor:
        return (images.movedim(1, -1) if self.axes.channels_last else images).flatten(1)


def _move(images: Tensor, extent: Extent, random: torch.Generator) -> Tensor:
    """Turn, shear, scale and shift at once; areas from outside get the colour of the nearest edge."""
    if not len(images):
        return images
    turn, shear, tall, wide, down, right = _uniform(images, 6, random).unbind(1)
    turn = torch.deg2rad(turn * extent.turn)
    tall = 1 + tall * extent.scale
    wide = 1 + wide * extent.scale
    shear = shear * extent.shear
    cos = turn.cos()
    sin = turn.sin()
    first = torch.stack([cos * wide, (shear * cos - sin) * tall, 2 * extent.shift * right], dim=1)
    second = torch.stack([sin * wide, (shear * sin + cos) * tall, 2 * extent.shift * down], dim=1)
    maps = torch.stack([first, second], dim=1)
    grid = functional.affine_grid(maps, list(images.shape), align_corners=False)
    return functional.grid_sample(images, grid, padding_mode="border", align_corners=False)


def _change_contrast(images: Tensor, extent: Extent, random: torch.Generator) -> Tensor:
    """Return the images with another contrast and brightness."""
    contrast, brightness = _uniform(images, 2, random)[:, :, None, None, None].unbind(1)
    return images * (1 + extent.contrast * contrast) + extent.brightness * brightness


def _cover(images: Tensor, extent: Extent, random: torch.Generator) -> Tensor:
    """Give a rectangle of each image the mean colour, 0."""
    height, width = images.shape[2:]
    places = (_uniform(images, 3, random) + 1) / 2
    half = extent.cutout * places[:, 2:] / 2
    rows = (_line(height, images) - places[:, :1]).abs() < half
    columns = (_line(width, images) - places[:, 1:2]).abs() < half
    covered = rows[:, None, :, None] & columns[:, None, None, :]
    return images.masked_fill(covered, 0.0)


def _line(pixels: int, images: Tensor) -> Tensor:
    """Return the centres of pixels along a side of length 1."""
    return (torch.arange(pixels, device=images.device) + 0.5) / pixels


def _uniform(images: Tensor, draws: int, random: torch.Generator) -> Tensor:
    """Return draws between -1 and 1 for each image, (n, draws)."""
    return torch.rand(len(images), draws, generator=random, device=images.device) * 2 - 1


WEAK_MASK = 0.05
"""Share of values that a weak view takes from another record, in the same column."""
STRONG_MASK = 0.3
"""Share of values that a strong view takes from another record, in the same column."""
WEAK_NOISE = 0.02
"""Deviation of the noise on every value of a weak view, in deviations of its column."""
STRONG_NOISE = 0.1
"""Deviation of the noise on every value of a strong view, in deviations of its column."""
STRONG_MIX = 0.2
"""Maximum weight with which a record is mixed with another."""


@dataclass(frozen=True)
class Tables:
    """Views of the scaled rows of a table; other records are those of the same batch."""

    def weak(self, x: Tensor, random: torch.Generator) -> Tensor:
        """Return rows (n, F), with a few values replaced by those of other rows, and little noise."""
        return _add_noise(_mask(x, WEAK_MASK, random), WEAK_NOISE, random)

    def strong(self, x: Tensor, random: torch.Generator) -> Tensor:
        """Return rows (n, F), mixed with others, with many values replaced, and more noise."""
        weight = STRONG_MIX * torch.rand(len(x), 1, generator=random, device=x.device)
        mixed = torch.lerp(x, _others(x, random), weight)
        return _add_noise(_mask(mixed, STRONG_MASK, random), STRONG_NOISE, random)


def _mask(x: Tensor, share: float, random: torch.Generator) -> Tensor:
    replaced = torch.rand(x.shape, generator=random, device=x.device) < share
    return torch.where(replaced, _others(x, random), x)


def _others(x: Tensor, random: torch.Generator) -> Tensor:
    """Return another row of the batch for each row, drawn at random."""
    return x[torch.randperm(len(x), generator=random, device=x.device)]


def _add_noise(x: Tensor, deviation: float, random: torch.Generator) -> Tensor:
    return x + deviation * torch.randn(x.shape, generator=random, device=x.device)


class Augmentation(Protocol):
    """Draws views of scaled flat rows (n, F) in which a person would still see the same class."""

    def weak(self, x: Tensor, random: torch.Generator) -> Tensor:
        """Return views close to the records, (n, F)."""

    def strong(self, x: Tensor, random: torch.Generator) -> Tensor:
        """Return views far from the records, (n, F)."""


def augmentation(shape: Shape) -> Augmentation:
    """Return the views of images for records with an image's shape, else those of tables."""
    axes = picture_axes(shape)
    return Tables() if axes is None else ImageViews(axes)
