"""Images moved and turned a little, so that a network of few records sees more of them.

Mühl and Boenisch 2022, section 4.
"""

import torch
from torch import Tensor
from torch.nn import functional

from ostraka.common.learning.shape import Axes


class TeacherImages:
    """The images of several teachers, from which each step's are cut."""

    def __init__(self, X: Tensor, axes: Axes, shift: int) -> None:
        """Take records (teachers, N, *shape); their edge pixels are repeated `shift` times outwards."""
        self._axes = axes
        images = X.movedim(-1, 2) if axes.channels_last else X
        images = images.reshape(-1, axes.channels, axes.height, axes.width)
        bordered = functional.pad(images, (shift,) * 4, mode="replicate")
        windows = bordered.unfold(2, axes.height, 1).unfold(3, axes.width, 1).movedim(1, 3)
        self._windows = windows.view(*X.shape[:2], *windows.shape[1:])
        self._shape = X.shape[2:]

    def cut(self, rows: Tensor, moves: Tensor, turns: Tensor | None) -> Tensor:
        """Images (teachers, batch, *shape): these rows (teachers, batch), each at its move, then turned.

        `moves` (teachers, batch, 2) are rows and columns from the upper left corner of the border; `turns`
        (teachers, batch) degrees.
        """
        teachers = torch.arange(len(rows), device=rows.device)[:, None]
        cut = self._windows[teachers, rows, moves[..., 0], moves[..., 1]]
        if turns is not None:
            cut = turned(cut.flatten(0, 1), turns.flatten()).reshape(cut.shape)
        cut = cut.movedim(2, -1) if self._axes.channels_last else cut
        return cut.reshape(*rows.shape, *self._shape)


def turned(images: Tensor, degrees: Tensor) -> Tensor:
    """Images (Q, channels, height, width), each turned counter-clockwise about its centre by its degrees.

    Pixels between pixels are interpolated; what comes from outside has the colour of the nearest edge.
    """
    height, width = images.shape[-2:]
    angles = torch.deg2rad(degrees)
    cos, sin, none = angles.cos(), angles.sin(), torch.zeros_like(angles)
    first = torch.stack([cos, -sin * (height / width), none], dim=1)
    second = torch.stack([sin * (width / height), cos, none], dim=1)
    shape = list(images.shape)
    grid = functional.affine_grid(torch.stack([first, second], dim=1), shape, align_corners=False)
    return functional.grid_sample(images, grid, padding_mode="border", align_corners=False)
