"""Circuits for the label set that a teacher votes for, computed on its logits.

Dziedzic et al. 2023, appendix I.2.
"""

import numpy as np
from numpy.typing import NDArray

from ostraka.common.crypto.argmax import argmax
from ostraka.common.crypto.gates import Gates, Wires
from ostraka.common.crypto.word_arithmetic import greater_signed, lookup, popcount
from ostraka.common.sharing.label_sets import bits_of, count_sets, index_of


def keep_highest(gates: Gates, logits: Wires, most: int) -> Wires:
    """Keep the `most` highest of the logits that are not negative, the lower label of equal ones.

    Few labels are ranked, many are searched for the highest `most` times: whichever takes fewer ANDs.

    Args:
        gates: how to compute.
        logits: words (w, instances, labels, label), in two's complement.
        most: how many are kept, fewer than there are labels.

    Returns:
        Wires (instances, labels, label), 1 where a label is kept.
    """
    by_rank = logits.shape[2] <= 4 * most
    return _by_rank(gates, logits, most) if by_rank else _by_search(gates, logits, most)


def label_set(gates: Gates, labels: Wires, max_positives: int | None) -> Wires:
    """One wire for each set of at most `max_positives` labels, 1 at the set of those labels that are 1.

    The product of a set's labels is 1 where the set lies within the one that is sought. That one is therefore
    the set at which the products of itself and its supersets add up to 1 over GF(2) (Moebius inversion), and
    sums are free: the only ANDs are one for each set of two labels or more.

    Args:
        gates: how to compute.
        labels: (instances, labels, label), of which at most `max_positives` (none: any number) are 1.
        max_positives: the most labels of a set.

    Returns:
        Wires (instances, sets, label) in the order of `label_sets.index_of`.
    """
    count = labels.shape[1]
    sets = bits_of(np.arange(count_sets(count, max_positives)), count)
    chosen = _products(gates, labels, sets)
    sizes = sets.sum(axis=1)
    for label in range(count):
        smaller = np.flatnonzero(~sets[:, label] & (sizes < sizes[-1]))
        chosen[:, smaller] ^= chosen[:, index_of(sets[smaller] | np.eye(count, dtype=np.bool_)[label])]
    chosen[:, 0] = gates.not_(chosen[:, 0])
    return chosen


def _by_search(gates: Gates, logits: Wires, most: int) -> Wires:
    """Look for the highest `most` times; what was found turns negative, so that it is not found again."""
    left = logits.copy()
    kept = np.zeros(logits.shape[1:], np.uint64)
    for _ in range(most):
        found = gates.and_(argmax(gates, left), gates.not_(left[-1]))
        left[-1] ^= found
        kept ^= found
    return kept


def _by_rank(gates: Gates, logits: Wires, most: int) -> Wires:
    """Compare all pairs, and keep a label that is not negative and has fewer than `most` ahead of it."""
    count = logits.shape[2]
    first, second = np.triu_indices(count, 1)
    second_wins = greater_signed(gates, logits[:, :, second], logits[:, :, first]).swapaxes(0, 1)
    wins = np.empty((count, count, *second_wins.shape[1:]), np.uint64)
    wins[second, first] = second_wins
    wins[first, second] = gates.not_(second_wins)
    ahead = np.stack([np.delete(wins[:, label], label, axis=0) for label in range(count)], axis=2)
    kept = lookup(gates, [rank < most for rank in range(count)], 1, popcount(gates, ahead))[0]
    return gates.and_(kept, gates.not_(logits[-1]))


def _products(gates: Gates, labels: Wires, sets: NDArray[np.bool_]) -> Wires:
    """Return the product of every set's labels, each the product of a smaller set and one more label.

    That of no labels, which would be 1, is left at 0.
    """
    count = labels.shape[1]
    products = np.zeros((len(labels), len(sets), labels.shape[-1]), np.uint64)
    products[:, 1 : count + 1] = labels
    sizes = sets.sum(axis=1)
    for size in range(2, sizes[-1] + 1):
        places = np.flatnonzero(sizes == size)
        last = count - 1 - sets[places, ::-1].argmax(axis=1)
        smaller = index_of(sets[places] & ~np.eye(count, dtype=np.bool_)[last])
        products[:, places] = gates.and_(products[:, smaller], labels[:, last])
    return products
