"""Arithmetic on words of wires, with as few AND gates as known; counts are for words of w bits.

A word is (bits, instances, ..., label), least significant bit first, in two's complement if it has a sign.
"""

from collections.abc import Sequence

import numpy as np

from ostraka.common.crypto.circuit import Gates, Wires


def add(gates: Gates, a: Wires, b: Wires) -> Wires:
    """Add words of equal shape modulo 2^w; w - 1 ANDs (Kolesnikov, Sadeghi and Schneider 2009)."""
    total: Wires = a ^ b
    for place, carry in enumerate(_carries(gates, a[:-1], b[:-1]), start=1):
        total[place] ^= carry
    return total


def add_carry(gates: Gates, a: Wires, b: Wires, carry: Wires) -> Wires:
    """Add words of equal shape and the wire `carry` modulo 2^w; w - 1 ANDs."""
    total: Wires = a ^ b
    total[0] ^= carry
    for place, carried in enumerate(_carries(gates, a[:-1], b[:-1], carry), start=1):
        total[place] ^= carried
    return total


def add_in_field(gates: Gates, a: Wires, b: Wires) -> Wires:
    """Add residues of equal shape modulo 2^w - 1, with the sum below it too; 2w - 1 ANDs.

    Either a + b is less than 2^w - 1, or a + b + 1 has a carry out of the word. The carry is then added: it
    stands for 2^w, whose residue is 1.
    """
    one = gates.not_(a[0] ^ a[0])
    return add_carry(gates, a, b, _carries(gates, a, b, one)[-1])


def subtract(gates: Gates, a: Wires, b: Wires) -> Wires:
    """Return the difference a - b modulo 2^w; w - 1 ANDs."""
    return gates.not_(add(gates, gates.not_(a), b))


def greater(gates: Gates, a: Wires, b: Wires) -> Wires:
    """Whether a > b as unsigned words, one wire (instances, ..., label); w ANDs."""
    return _carries(gates, a, gates.not_(b))[-1]


def greater_signed(gates: Gates, a: Wires, b: Wires) -> Wires:
    """Whether a > b in two's complement, one wire (instances, ..., label); w ANDs."""
    return greater(gates, _sign_inverted(gates, a), _sign_inverted(gates, b))


def equal(gates: Gates, a: Wires, b: Wires) -> Wires:
    """Whether a = b, one wire (instances, ..., label); w - 1 ANDs."""
    return all_of(gates, gates.not_(a ^ b))


def select(gates: Gates, choice: Wires, yes: Wires, no: Wires) -> Wires:
    """Select the word `yes` where the wire `choice` is 1, else the word `no`; w ANDs."""
    return no ^ keep(gates, choice, yes ^ no)


def keep(gates: Gates, choice: Wires, word: Wires) -> Wires:
    """Return the word where the wire `choice` is 1, else zero; w ANDs."""
    return gates.and_(np.broadcast_to(choice, word.shape), word)


def or_(gates: Gates, a: Wires, b: Wires) -> Wires:
    """Return the OR of wires of equal shape, element by element; 1 AND each."""
    return a ^ b ^ gates.and_(a, b)


def all_of(gates: Gates, wires: Wires) -> Wires:
    """Whether every wire along the first axis is 1; one AND fewer than there are wires."""
    while len(wires) > 1:
        half = len(wires) // 2
        pairs = gates.and_(wires[:half], wires[half : 2 * half])
        wires = np.concatenate([pairs, wires[2 * half :]])
    last: Wires = wires[0]
    return last


def any_of(gates: Gates, wires: Wires) -> Wires:
    """Whether some wire along the first axis is 1; one AND fewer than there are wires."""
    return gates.not_(all_of(gates, gates.not_(wires)))


def popcount(gates: Gates, wires: Wires) -> Wires:
    """Return the number of 1s among the m wires along the first axis, as a word with as many bits as m.

    m - h ANDs, where h is the number of ones in m written in binary (Boyar and Peralta 2005).
    """
    word = []
    column = wires
    while len(column):
        wire, column = _column_sum(gates, column)
        word.append(wire)
    return np.stack(word)


def lookup(gates: Gates, table: Sequence[int], bits: int, index: Wires) -> Wires:
    """Look up the entry, a word of `bits` bits, of a public table at a secret index.

    Every bit of the result is a polynomial over GF(2) in the bits of the index (its algebraic normal form);
    products are shared among bits and sums are free. For t entries at most t - 1 - ceil(log2 t) ANDs.

    Args:
        gates: how to compute.
        table: entries from 0 to 2^bits - 1; an index beyond the table gives an arbitrary value.
        bits: number of bits of the result.
        index: a word with at least as many bits as the last index of the table; higher bits are ignored.
    """
    monomials = _monomials(gates, index, len(table))
    coefficients = _normal_form(table)
    entry = np.zeros((bits, *index.shape[1:]), np.uint64)
    for place in range(bits):
        chosen = [term for term in range(1, len(table)) if coefficients[term] >> place & 1]
        for term in chosen:
            entry[place] ^= monomials[term - 1]
        if coefficients[0] >> place & 1:
            entry[place] = gates.not_(entry[place])
    return entry


def _carries(gates: Gates, a: Wires, b: Wires, carry: Wires | None = None) -> list[Wires]:
    """Return the carry out of every bit of a + b + carry; one AND per bit.

    The majority of x, y and c is c ^ (x ^ c)(y ^ c).
    """
    carries: list[Wires] = []
    for x, y in zip(a, b, strict=True):
        carry = gates.and_(x, y) if carry is None else carry ^ gates.and_(x ^ carry, y ^ carry)
        carries.append(carry)
    return carries


def _sign_inverted(gates: Gates, word: Wires) -> Wires:
    """Return two's complement shifted up by half the range, so that unsigned order is the signed one."""
    return np.concatenate([word[:-1], gates.not_(word[-1:])])


def _column_sum(gates: Gates, column: Wires) -> tuple[Wires, Wires]:
    """Return the sum bit of wires of one weight, and their carries, which have twice the weight."""
    carries = [column[:0]]
    while len(column) > 2:
        triples = len(column) // 3
        x, y, z = column[: 3 * triples].reshape(3, triples, *column.shape[1:])
        carries.append(z ^ gates.and_(x ^ z, y ^ z))
        column = np.concatenate([x ^ y ^ z, column[3 * triples :]])
    if len(column) == 2:
        carries.append(gates.and_(column[:1], column[1:]))
        column = column[:1] ^ column[1:]
    return column[0], np.concatenate(carries)


def _monomials(gates: Gates, index: Wires, entries: int) -> Wires:
    """Return products of the index's bits: term s, from 1 to entries - 1, of the bits in s; at s - 1."""
    terms = index[: min(1, entries - 1)]
    for place in range(1, (entries - 1).bit_length()):
        bit = index[place : place + 1]
        wanted = min(len(terms), entries - 1 - 2**place)
        terms = np.concatenate([terms, bit, keep(gates, bit, terms[:wanted])])
    return terms


def _normal_form(table: Sequence[int]) -> list[int]:
    """Return the coefficients over GF(2), one bit of each for each bit of the entries (Moebius inversion).

    The coefficient of term s depends only on entries at s and below; those of terms beyond the table are left
    out, which determines the result for an index beyond the table.
    """
    coefficients = list(table)
    for step in (1 << place for place in range((len(table) - 1).bit_length())):
        for term in range(len(table)):
            if term & step:
                coefficients[term] ^= coefficients[term ^ step]
    return coefficients


def argmax(gates: Gates, words: Wires) -> Wires:
    """Return one wire for each of k signed words, 1 at the largest of an instance, the first of equal ones.

    A tournament of neighbours, in which the earlier of equal words wins. For words of w bits it takes k - 1
    comparisons, k - 2 selections and k - 2 ANDs for the way back: w (2k - 3) + k - 2 ANDs.

    Args:
        gates: how to compute.
        words: (w, instances, k, label), two or more per instance, in two's complement.

    Returns:
        Wires (instances, k, label), of which exactly one is 1 whatever the words are.
    """
    count = words.shape[2]
    pairs = count // 2
    left = words[:, :, 0 : 2 * pairs : 2]
    right = words[:, :, 1 : 2 * pairs : 2]
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
    """Return the index of the only 1 among k wires, as a word; no ANDs.

    A bit of the index is 1 if one of the places with that bit is chosen, and at most one is.

    Args:
        one_hot: (instances, k, label).

    Returns:
        A word (bits of k - 1, instances, label).
    """
    places = np.arange(one_hot.shape[1])
    bits = range(int(places[-1]).bit_length())
    return np.stack([np.bitwise_xor.reduce(one_hot[:, places >> bit & 1 == 1], axis=1) for bit in bits])
