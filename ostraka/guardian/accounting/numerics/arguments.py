"""Validation of the accountant's arguments."""

from __future__ import annotations

import math
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ostraka.common.privacy import InputError

Floats = NDArray[np.float64]
Bound = Literal["worst_case", "theorem6", "exact"]


def check_votes(votes: ArrayLike) -> Floats:
    """Return votes as float64 (Q, k), k at least 2, finite and not negative."""
    array = np.asarray(votes, dtype=np.float64)
    if array.ndim != 2 or array.shape[1] < 2:
        raise InputError("votes", f"must have shape (queries, classes >= 2), has {array.shape}")
    refuse("votes", ~(np.isfinite(array) & (array >= 0)), "must be a finite number, 0 or more")
    return array


def check_orders(orders: ArrayLike) -> Floats:
    """Return orders as float64 (R,), finite and above 1."""
    array = np.atleast_1d(np.asarray(orders, dtype=np.float64))
    if array.ndim != 1:
        raise InputError("orders", f"must have one dimension, has {array.ndim}")
    refuse("orders", ~(np.isfinite(array) & (array > 1)), "must be a finite number above 1")
    return array


def check_answered(answered: ArrayLike, queries: int) -> NDArray[np.bool_]:
    """Return the answered mask as bool (Q,)."""
    array = np.asarray(answered)
    if array.dtype != np.bool_ or array.shape != (queries,):
        raise InputError("answered", f"must be {queries} booleans, is {array.dtype} of shape {array.shape}")
    return array


def check_released(labels: ArrayLike, answered: NDArray[np.bool_], classes: int) -> NDArray[np.int64]:
    """Return released labels as int64 (Q,): a class where `answered` (Q,), anything elsewhere."""
    array = np.asarray(labels)
    if not np.issubdtype(array.dtype, np.integer) or array.shape != answered.shape:
        raise InputError(
            "labels", f"must be {len(answered)} whole numbers, is {array.dtype} of shape {array.shape}"
        )
    refuse("labels", answered & ((array < 0) | (array >= classes)), f"must be a class below {classes}")
    return array.astype(np.int64)


def check_scalar(argument: str, value: float, *, positive: bool = True) -> float:
    """Return a finite number, above 0 where `positive`."""
    if not math.isfinite(value) or (positive and value <= 0):
        raise InputError(argument, f"must be a finite number{' above 0' if positive else ''}, is {value}")
    return float(value)


def check_lattice(lattice: float) -> float:
    """Return the lattice step in votes; 0 means continuous noise."""
    if not 0 <= lattice < math.inf:
        raise InputError("lattice", f"must be a finite number, 0 or more, is {lattice}")
    return lattice


def check_bound(bound: Bound) -> Bound:
    """Return the bound's name if it is known."""
    if bound not in get_args(Bound):
        raise InputError("bound", f"must be one of {', '.join(get_args(Bound))}, is {bound}")
    return bound


def refuse(argument: str, wrong: NDArray[np.bool_], message: str) -> None:
    """Raise `InputError` with the first index that is `wrong`, if there is one."""
    if wrong.any():
        raise InputError(argument, message, tuple(int(i) for i in np.argwhere(wrong)[0]))


def check_positives(positives: ArrayLike, n: ArrayLike) -> tuple[Floats, Floats]:
    """Return positives (Q, k) and n, a number or (Q, k), as float64 (Q, k)."""
    votes = np.asarray(positives, dtype=np.float64)
    total = np.asarray(n, dtype=np.float64)
    if votes.ndim != 2 or votes.shape[1] < 1:
        raise InputError("positives", f"must have shape (queries, labels >= 1), has {votes.shape}")
    if total.shape not in ((), votes.shape):
        raise InputError("n", f"must be a number or have shape {votes.shape}, has {total.shape}")
    for argument, array in (("n", total), ("positives", votes)):
        refuse(argument, ~(np.isfinite(array) & (array >= 0)), "must be a finite number, 0 or more")
    refuse("positives", votes > total, "must be at most n")
    return votes, np.broadcast_to(total, votes.shape)


def check_norm(argument: str, value: float, most: float) -> float:
    """Return the largest norm of a ballot: above 0, and at most the norm of an unclipped ballot."""
    if not 0 < value <= most:
        raise InputError(argument, f"must be above 0 and at most {most:.6g}, is {value}")
    return float(value)


def check_labels(answered: ArrayLike, shape: tuple[int, ...]) -> NDArray[np.bool_]:
    """Return the mask of answered labels as bool (Q, k)."""
    array = np.asarray(answered)
    if array.dtype != np.bool_ or array.shape != shape:
        raise InputError("answered", f"must be booleans of shape {shape}, is {array.dtype} of {array.shape}")
    return array


def check_matrix(argument: str, values: ArrayLike, *, least: int = 1) -> Floats:
    """Return float64 (rows, columns), columns at least `least`, finite and not negative."""
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 2 or array.shape[1] < least:
        raise InputError(argument, f"must have shape (rows, columns >= {least}), has {array.shape}")
    refuse(argument, ~(np.isfinite(array) & (array >= 0)), "must be a finite number, 0 or more")
    return array


def check_whole(argument: str, value: int, *, least: int) -> int:
    """Return a whole number of at least `least`."""
    if not isinstance(value, int | np.integer) or isinstance(value, bool) or value < least:
        raise InputError(argument, f"must be a whole number of at least {least}, is {value}")
    return int(value)
