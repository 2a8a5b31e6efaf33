"""The proof is the quotient that Python's integers give, and layouts are made only of what can be proved."""

from __future__ import annotations

import numpy as np
import pytest

from ostraka.common.sharing.prime_field import PrimeField
from ostraka.common.verified import layout as layouts
from ostraka.common.verified.digits import write
from ostraka.common.verified.layout import Layout
from ostraka.common.verified.quotient import quotient_values
from ostraka.common.verified.statement import Statement

BOTH = pytest.mark.parametrize("bits", [31, 61])


def interpolated(values: list[int], at: int, prime: int) -> int:
    """Return the polynomial through (0, values[0]), (1, values[1]), ... at a number beyond them."""
    total = 0
    for m, value in enumerate(values):
        over, under = 1, 1
        for j in range(len(values)):
            if j != m:
                over, under = over * (at - j) % prime, under * (m - j) % prime
        total += value * over * pow(under, -1, prime)
    return total % prime


@BOTH
@pytest.mark.parametrize("most", [1, 4, 50])
def test_the_quotient_is_that_of_integers(bits: int, most: int) -> None:
    field = PrimeField(bits)
    layout = Layout(Statement(rows=3, cells=2, most=most, total=None), field)
    rng = np.random.default_rng(most)
    digits = write(rng.integers(0, most + 1, layout.statement.size), layout.digits)
    blinds = rng.integers(0, field.prime, (layout.wires, layout.blinds)).astype(np.uint64)
    rho = rng.integers(0, field.prime, (layout.wires, field.degree)).astype(np.uint64)
    computed = quotient_values(layout, digits, blinds, rho).tolist()
    wires = np.concatenate([blinds, layout.arrange(digits)], 1).tolist()
    tops = [digit.top for digit in layout.digits for _ in range(layout.wires_of_place)]
    for row, end in enumerate(range(layout.points, layout.points + layout.proof_values)):
        vanishing, zeros = 1, []
        for point in range(layout.blinds, layout.points):
            vanishing = vanishing * (end - point) % field.prime
        for wire, top in zip(wires, tops, strict=True):
            value, zero = interpolated(wire, end, field.prime), 1
            for allowed in range(top + 1):
                zero = zero * (value - allowed) % field.prime
            zeros.append(zero)
        for part in range(field.degree):
            combined = sum(int(factor[part]) * zero for factor, zero in zip(rho, zeros, strict=True))
            assert computed[row][part] * vanishing % field.prime == combined % field.prime


@pytest.mark.parametrize("statement", [Statement(1, 3, 2**30, None), Statement(2, 2**21, 2**10, None)])
def test_rows_that_may_wrap_are_refused(statement: Statement) -> None:
    with pytest.raises(ValueError, match="larger one"):
        Layout(statement, PrimeField(31))
    assert Layout(statement, PrimeField(61)).digits


def test_weak_proofs_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(layouts, "LEAST_SOUNDNESS_BITS", 80)
    with pytest.raises(ValueError, match="too weak"):
        Layout(Statement(5, 5, 5, 5), PrimeField(31))


@BOTH
@pytest.mark.parametrize("statement", [Statement(10, 10, 10, 10), Statement(1000, 20, 50, None)])
def test_bytes_are_those_of_the_layout(bits: int, statement: Statement) -> None:
    layout = Layout(statement, PrimeField(bits))
    size = layout.field.element_bytes
    assert layout.share_bytes == len(layout.digits) * statement.size * size
    assert layout.share_bytes <= 8 * statement.size * size // 4
    assert layout.points + layout.proof_values < layouts.POINTS_BELOW
