"""Factories that a querying party would name."""

from typing import Any

import numpy as np
import torch
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.naive_bayes import GaussianNB, MultinomialNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from torch import nn


def boosted(shape: tuple[int, ...], classes: int) -> Any:
    return make_pipeline(
        StandardScaler(), HistGradientBoostingClassifier(max_iter=10, min_samples_leaf=2, learning_rate=0.5)
    )


def bayes(shape: tuple[int, ...], classes: int) -> Any:
    return GaussianNB()


def counting(shape: tuple[int, ...], classes: int) -> Any:
    return MultinomialNB()


def neighbours(shape: tuple[int, ...], classes: int) -> Any:
    return KNeighborsClassifier()


def vectors(shape: tuple[int, ...], classes: int) -> Any:
    return SVC()


def network(shape: tuple[int, ...], classes: int) -> Any:
    inputs = int(np.prod(shape))
    return nn.Sequential(
        nn.Flatten(), nn.Linear(inputs, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Linear(64, classes)
    )


def too_narrow(shape: tuple[int, ...], classes: int) -> Any:
    return nn.Linear(shape[0] - 1, classes)


def double(shape: tuple[int, ...], classes: int) -> Any:
    return nn.Linear(shape[0], classes, dtype=torch.float64)
