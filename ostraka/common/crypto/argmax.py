"""Argmax circuit: the index of the largest of several secret words."""

import numpy as np

from ostraka.common.crypto.gates import Gates, Wires
from ostraka.common.crypto.word_arithmetic import greater_signed, select


def argmax(gates: Gates, words: Wires) -> Wires:
    """One wire for each of k signed words, 1 at the largest of an instance and at the first of equal ones.

    A tournament of neighbours, so that of equal words the one before wins. For words of w bits it takes
    k - 1 comparisons, k - 2 selections and k - 2 ANDs to tell the way back: w (2k - 3) + k - 2 ANDs.

    Args:
        gates: how to compute.
        words: (w, instances, k, label), two or more an instance, in two's complement.

    Returns:
        Wires (instances, k, label), of which exactly one is 1 whatever the words are.
    """
    count = words.shape[2]
    pairs = count // 2
    left, right = words[:, :, 0 : 2 * pairs : 2], words[:, :, 1 : 2 * pairs : 2]
    right_wins = greater_signed(gates, right, left)
    if count == 2:
        return np.concatenate([gates.not_(right_wins), right_wins], axis=1)
    winners = select(gates, right_wins, right, left)
    ahead = argmax(gates, np.concatenate([winners, words[:, :, 2 * pairs :]], axis=2))
    largest = np.empty(words.shape[1:], np.uint64)
    largest[:, 1 : 2 * pairs : 2] = gates.and_(ahead[:, :pairs], right_wins)
    largest[:, 0 : 2 * pairs : 2] = ahead[:, :pairs] ^ largest[:, 1 : 2 * pairs : 2]
    largest[:, 2 * pairs :] = ahead[:, pairs:]
    return largest


def index(one_hot: Wires) -> Wires:
    """Return the place of the only 1 among k wires, as a word; no ANDs.

    A bit of the place is 1 where one of the places that have it is chosen, and at most one is.

    Args:
        one_hot: (instances, k, label).

    Returns:
        A word (bits of k - 1, instances, label).
    """
    places = np.arange(one_hot.shape[1])
    bits = range(int(places[-1]).bit_length())
    return np.stack([np.bitwise_xor.reduce(one_hot[:, places >> bit & 1 == 1], axis=1) for bit in bits])
