"""The proof is the quotient that Python's integers give, and layouts are made only of what can be proved."""

from __future__ import annotations

import numpy as np
import pytest

from ostraka.common.sharing.prime_field import PrimeField
from ostraka.common.sharing.statement import Norm, Statement, reach_of_digits
from ostraka.common.verified import layout as layouts
from ostraka.common.verified.layout import Layout
from ostraka.common.verified.polynomials import quotient_values

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
@pytest.mark.parametrize("norm", [None, Norm(1, 70), Norm(2, 4000)], ids=str)
@pytest.mark.parametrize("most", [1, 4, 50])
def test_the_quotient_is_that_of_integers(bits: int, most: int, norm: Norm | None) -> None:
    require_quotient(Statement(rows=3, cells=2, most=most, total=None, norm=norm), PrimeField(bits))


@BOTH
@pytest.mark.parametrize("unit", [1, 11])
def test_the_quotient_of_signed_numbers_is_that_of_integers(bits: int, unit: int) -> None:
    norm = Norm(2, 20_000 // unit**2, unit, joint=True)
    require_quotient(Statement(3, 2, reach_of_digits(2), None, norm, signed=True), PrimeField(bits))


def require_quotient(statement: Statement, field: PrimeField) -> None:
    most = statement.most
    layout = Layout(statement, field)
    rng = np.random.default_rng(most)
    digits = layout.writing.write(rng.integers(statement.least // 2, most // 2 + 2, (3, 2)))
    blinds = rng.integers(0, field.prime, (layout.wires, layout.blinds)).astype(np.uint64)
    rho = rng.integers(0, field.prime, (layout.constraints, field.degree)).astype(np.uint64)
    computed = quotient_values(layout, digits, blinds, rho).tolist()
    wires = [own + held for own, held in zip(blinds.tolist(), layout.arrange(digits).tolist(), strict=True)]
    for row, end in enumerate(range(layout.points, layout.points + layout.proof_values)):
        vanishing = 1
        for point in range(layout.blinds, layout.points):
            vanishing = vanishing * (end - point) % field.prime
        zeros = constraints(layout, [interpolated(wire, end, field.prime) for wire in wires])
        for part in range(field.degree):
            combined = sum(int(factor[part]) * zero for factor, zero in zip(rho, zeros, strict=True))
            assert computed[row][part] * vanishing % field.prime == combined % field.prime


def constraints(layout: Layout, values: list[int]) -> list[int]:
    """Return what is 0 at all digits: a product for each wire, and by how much each wire's norms are off."""
    zeros, counts = [], [0] * layout.numbers
    for place in layout.places:
        for wire, number in zip(
            range(layout.wires)[place.wires], range(layout.numbers)[place.numbers], strict=True
        ):
            zero = 1
            for allowed in range(place.digit.least, place.digit.top + 1):
                zero = zero * (values[wire] - allowed) % layout.field.prime
            zeros.append(zero)
            counts[number] += values[wire] * place.weight
    if layout.statement.norm is None:
        return zeros
    groups, power = layout.norm_groups, layout.statement.norm.power
    # The sum of norms that are bounded together comes last, and has no norm of its own.
    numbers = groups * (layout.statement.cells + 1)
    cells = [counts[start : start + groups] for start in range(0, numbers, groups)]
    return zeros + [
        sum(count**power for count in row) - written for *row, written in zip(*cells, strict=True)
    ]


@pytest.mark.parametrize(
    "statement",
    [
        Statement(1, 3, 2**30, None),
        Statement(2, 2**21, 2**10, None),
        Statement(1, 2, 2**15, None, Norm(2, 10)),
        Statement(1, 2, 100, None, Norm(2, 2**31 - 1)),
    ],
)
def test_rows_that_may_wrap_are_refused(statement: Statement) -> None:
    with pytest.raises(ValueError, match="larger one"):
        Layout(statement, PrimeField(31))
    assert Layout(statement, PrimeField(61)).points


def test_weak_proofs_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(layouts, "MIN_SOUNDNESS_BITS", 80)
    with pytest.raises(ValueError, match="too weak"):
        Layout(Statement(5, 5, 5, 5), PrimeField(31))


@BOTH
@pytest.mark.parametrize(
    "statement",
    [
        Statement(10, 10, 10, 10),
        Statement(1000, 20, 50, None),
        Statement(1000, 20, 640, None, Norm(2, 1_638_400)),
    ],
)
def test_bytes_are_those_of_the_layout(bits: int, statement: Statement) -> None:
    layout = Layout(statement, PrimeField(bits))
    size = layout.field.element_bytes
    written = layout.writing.write(np.ones((statement.rows, statement.cells), np.int64))
    assert layout.share_bytes == written.size * size
    assert layout.share_bytes <= (2 if statement.norm is None else 4) * statement.size * size
    assert layout.points + layout.proof_values < layouts.POINTS_BELOW


def test_what_is_extended_at_once_has_so_many_numbers_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    def extended() -> int:
        layout = Layout(Statement(1000, 20, 50, None), PrimeField(61))
        return layout.points * layout.proof_values

    most = extended()
    assert most <= layouts._MAX_EXTENSION
    monkeypatch.setattr(layouts, "_MAX_EXTENSION", most)
    assert extended() == most
    monkeypatch.setattr(layouts, "_MAX_EXTENSION", most - 1)
    assert extended() < most
