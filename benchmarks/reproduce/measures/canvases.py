"""Multi-label images in place of VOC's: small MNIST digits on a canvas, whose labels say which.

A network trained on single digits of public canvases takes the role of an ImageNet ResNet for VOC.
"""

from copy import deepcopy
from dataclasses import dataclass
from functools import cache

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from benchmarks.capc_multilabel.data import DELTA, Records
from benchmarks.dpsgd.learning import Training, dpsgd
from benchmarks.dpsgd.networks import SIDE, tanh_cnn
from benchmarks.published import DATA

CLASSES = 10  # MNIST's
HALF = SIDE // 2
"""Side of a digit: a canvas has room for four."""
HOW_MANY = (0.6, 0.3, 0.1)
"""Frequencies of canvases with one, two and three digits."""
WEIGHTS = np.arange(CLASSES, 0, -1) / 55
"""Frequencies of the digits: a 0 is ten times as frequent as a 9."""
SEEN = Training(epochs=6, batch=64, rate=0.05)
Images = NDArray[np.float32]


@dataclass(frozen=True)
class Canvases:
    """Numbers of canvases.

    Attributes:
        public: single digits that the network was trained on; those of private canvases follow.
        private: canvases of all voters together.
        pool: unlabeled canvases, and the same number of test canvases.
        voters: number of voters that share the private ones.
    """

    public: int = 6000
    private: int = 5700
    pool: int = 1000
    voters: int = 50


QUICK = Canvases(public=600, private=400, pool=100, voters=10)


@dataclass(frozen=True)
class Dealt:
    """Private, unlabeled and test canvases of one seed; records are pixels (N, 784) or features (N, 32)."""

    private: Records
    pool: Records
    test: Records


@cache
def dealt(size: Canvases, seed: int) -> Dealt:
    """Return a seed's canvases; the digits of the pool and of the test are MNIST's test images."""
    random = np.random.default_rng(seed)
    private = _canvases("train", size.public, size.private, random)
    return Dealt(private, *(_canvases("test", 0, size.pool, random) for _ in range(2)))


@cache
def last_layer(size: Canvases, seed: int) -> Dealt:
    """Return the same canvases as inputs of the last layer of the network trained on digits."""
    body = _train_network(size)[:-1]
    whole = dealt(size, seed)
    with torch.no_grad():
        return Dealt(
            *(
                Records(body(torch.from_numpy(part.X)).numpy(), part.y)
                for part in (whole.private, whole.pool, whole.test)
            )
        )


def whole_network(size: Canvases, outputs: int) -> nn.Module:
    """Return the network trained on digits, for further training, with a last layer initialized to 0."""
    last = nn.Linear(32, outputs)
    nn.init.zeros_(last.weight)
    nn.init.zeros_(last.bias)
    return nn.Sequential(deepcopy(_train_network(size)[:-1]), last).train()


@cache
def _train_network(size: Canvases) -> nn.Sequential:
    X, y = _digits("train")
    random = np.random.default_rng(0)
    images = np.zeros((size.public, SIDE, SIDE), np.float32)
    for image, digit in zip(images, X[: size.public], strict=True):
        _put(image, digit, int(random.integers(4)))
    flat = images.reshape(size.public, -1)
    seen = y[: size.public]
    found = dpsgd(flat, seen, None, DELTA, classes=CLASSES, network=tanh_cnn, training=SEEN).network
    assert isinstance(found, nn.Sequential)
    return found


def _canvases(part: str, first: int, count: int, random: np.random.Generator) -> Records:
    """Return canvases of MNIST's digits from `first` on, pixels (count, SIDE * SIDE) in [0, 1]."""
    X, y = (array[first:] for array in _digits(part))
    of = [np.flatnonzero(y == digit) for digit in range(CLASSES)]
    images = np.zeros((count, SIDE, SIDE), np.float32)
    labels = np.zeros((count, CLASSES), np.int64)
    for image, label in zip(images, labels, strict=True):
        many = 1 + int(random.choice(len(HOW_MANY), p=HOW_MANY))
        digits = random.choice(CLASSES, many, replace=False, p=WEIGHTS)
        places = random.permutation(4)[:many]
        for digit, place in zip(digits, places, strict=True):
            _put(image, X[random.choice(of[digit])], int(place))
            label[digit] = 1
    return Records(images.reshape(count, -1), labels)


def _put(image: Images, digit: Images, place: int) -> None:
    top = HALF * (place // 2)
    left = HALF * (place % 2)
    image[top : top + HALF, left : left + HALF] = digit


@cache
def _digits(part: str) -> tuple[Images, NDArray[np.int64]]:
    """Return MNIST's digits at half their side, (N, HALF, HALF) in [0, 1], and their classes."""
    with np.load(DATA / "mnist.npz") as arrays:
        X = arrays[f"X_{part}"].reshape(-1, SIDE, SIDE)
        y = arrays[f"y_{part}"].astype(np.int64)
    small = X.reshape(-1, HALF, 2, HALF, 2).mean(axis=(2, 4)) / 255
    return small.astype(np.float32), y
