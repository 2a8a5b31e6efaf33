"""Public features of 28 by 28 pixel images: histograms of oriented gradients (Dalal and Triggs 2005)."""

import numpy as np
from numpy.typing import NDArray

SIDE = 28  # pixels
CELL = 4  # pixels of a cell's side: 49 cells
ANGLES = 9  # as in the paper
CHUNK = 2000  # images at a time; their gradients take 60 MB
LARGEST = 0.3  # upper bound of a value in a histogram of norm 1; larger ones count as 1


def gradient_histograms(images: NDArray[np.integer]) -> NDArray[np.float32]:
    """Return a histogram of angles for each cell, normalised per image and scaled to 0 to 1: (n, 441)."""
    parts = [_histograms(images[start : start + CHUNK]) for start in range(0, len(images), CHUNK)]
    return np.concatenate(parts)


def _histograms(images: NDArray[np.integer]) -> NDArray[np.float32]:
    pixels = images.reshape(-1, SIDE, SIDE).astype(np.float32) / 255
    across = np.zeros_like(pixels)
    down = np.zeros_like(pixels)
    across[:, :, 1:-1] = pixels[:, :, 2:] - pixels[:, :, :-2]
    down[:, 1:-1] = pixels[:, 2:] - pixels[:, :-2]
    lengths = np.hypot(across, down)
    angles = np.minimum((np.arctan2(down, across) % np.pi) / np.pi * ANGLES, ANGLES - 1).astype(np.int64)
    cells = SIDE // CELL
    found = np.empty((len(pixels), cells, cells, ANGLES), np.float32)
    for angle in range(ANGLES):
        part = np.where(angles == angle, lengths, 0).reshape(-1, cells, CELL, cells, CELL)
        found[..., angle] = part.sum(axis=(2, 4))
    flat = found.reshape(len(pixels), -1)
    norms = np.maximum(np.linalg.norm(flat, axis=1, keepdims=True), np.finfo(np.float32).eps)
    histograms: NDArray[np.float32] = np.minimum(flat / norms / LARGEST, 1)
    return histograms
