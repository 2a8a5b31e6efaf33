"""Shapes of records: images or tables, and the order of their axes."""

from typing import NamedTuple

Shape = tuple[int, ...]
MIN_SIDE = 8
"""Pixels below which the sides of records are no image's: they are taken as tables."""


class Axes(NamedTuple):
    """How one record is an image, whichever axis its channels are on."""

    channels: int
    height: int
    width: int
    channels_last: bool


def image_axes(shape: Shape) -> Axes | None:
    """Return the axes of (height, width), (channels, height, width) or (height, width, channels), else None.

    Channels are last where the last axis is the shortest of three.
    """
    if len(shape) == 2:
        return Axes(1, shape[0], shape[1], False)
    if len(shape) != 3:
        return None
    if shape[2] < min(shape[:2]):
        return Axes(shape[2], shape[0], shape[1], True)
    return Axes(shape[0], shape[1], shape[2], False)


def picture_axes(shape: Shape) -> Axes | None:
    """Return the axes of records learned as images, of sides of `MIN_SIDE` or more; None for a table."""
    axes = image_axes(shape)
    return axes if axes and min(axes.height, axes.width) >= MIN_SIDE else None
