"""Shapes of records: images or tables, and the order of their axes."""

from typing import NamedTuple

Shape = tuple[int, ...]
MIN_SIDE = 8
"""Side length in pixels below which records are treated as tables, not as images."""


class Axes(NamedTuple):
    """The axes of one record as an image, whichever axis has its channels."""

    channels: int
    height: int
    width: int
    channels_last: bool


def image_axes(shape: Shape) -> Axes | None:
    """Return the axes of (height, width), (channels, height, width) or (height, width, channels), else None.

    Channels are last if the last axis is the shortest of three.
    """
    if len(shape) == 2:
        return Axes(1, shape[0], shape[1], False)
    if len(shape) != 3:
        return None
    if shape[2] < min(shape[:2]):
        return Axes(shape[2], shape[0], shape[1], True)
    return Axes(shape[0], shape[1], shape[2], False)


def picture_axes(shape: Shape) -> Axes | None:
    """Return the axes of records learned as images, with sides of at least `MIN_SIDE`; None for a table."""
    axes = image_axes(shape)
    return axes if axes and min(axes.height, axes.width) >= MIN_SIDE else None
