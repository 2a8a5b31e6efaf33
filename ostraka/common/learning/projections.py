"""Public projections of records to few features, named by a task: equal at every site, based on no records.

Images keep the lowest frequencies of their cosine transform, which contain most of the differences between
them. Tables get sums with random signs (Achlioptas 2003). Entries are rounded, so that machines agree on
digests.
"""

import hashlib
import math
import re
from typing import TYPE_CHECKING

import numpy as np
import scipy.fft
from numpy.typing import NDArray

from ostraka.common.learning.shape import Shape, picture_axes

if TYPE_CHECKING:
    from torch import nn

_NAME = re.compile(r"projection:to_(\d+)_of_(\d+(?:x\d+)*)")
_STEPS = 2.0**20
"""Entries are multiples of 2^-20, far coarser than the last digits in which libraries differ."""


def is_projection(name: str) -> bool:
    """Whether an encoder's name is that of a projection."""
    return _NAME.fullmatch(name) is not None


def projection(name: str) -> "nn.Module":
    """Return the projection "projection:to_F'_of_SHAPE" of prepared records (n, F) to features (n, F')."""
    import torch
    from torch import nn

    found = _NAME.fullmatch(name)
    assert found is not None  # noqa: S101 - the caller asked `is_projection`
    shape = tuple(map(int, found[2].split("x")))
    basis = torch.from_numpy(_basis(int(found[1]), shape, name))
    layer = nn.Linear(basis.shape[1], len(basis), bias=False)
    with torch.no_grad():
        layer.weight.copy_(basis)
    return layer


def _basis(features: int, shape: Shape, name: str) -> NDArray[np.float32]:
    """Return the matrix rows (features, F) that multiply flat records of a shape."""
    rows = _random_signs(features, shape, name) if picture_axes(shape) is None else _cosines(features, shape)
    return (np.rint(rows * _STEPS) / _STEPS).astype(np.float32)


def _cosines(features: int, shape: Shape) -> NDArray[np.float64]:
    """Return the lowest frequencies of images, orthonormal; of equal ones the first channel's first."""
    axes = picture_axes(shape)
    assert axes is not None  # noqa: S101 - the caller looked
    down, across = (scipy.fft.dct(np.eye(side), norm="ortho", axis=0) for side in (axes.height, axes.width))
    u, v, channel = np.meshgrid(
        np.arange(axes.height), np.arange(axes.width), np.arange(axes.channels), indexing="ij"
    )
    # Whole numbers, so that equal frequencies are equal on every machine.
    frequency = (u * axes.width) ** 2 + (v * axes.height) ** 2
    rows = []
    for place in np.lexsort((channel.ravel(), frequency.ravel()))[:features]:
        image = np.zeros((axes.channels, axes.height, axes.width))
        image[channel.flat[place]] = np.outer(down[u.flat[place]], across[v.flat[place]])
        rows.append((np.moveaxis(image, 0, -1) if axes.channels_last else image).ravel())
    return np.stack(rows)


def _random_signs(features: int, shape: Shape, name: str) -> NDArray[np.float64]:
    """Return signs derived from the name, divided so that records keep their length on average."""
    size = features * int(np.prod(shape))
    bits = np.unpackbits(np.frombuffer(hashlib.shake_256(name.encode()).digest(-(-size // 8)), np.uint8))
    signs = bits[:size].reshape(features, -1).astype(np.float64) * 2.0 - 1.0
    return signs / math.sqrt(features)
