from typing import Any

import numpy as np
import pytest

from ostraka.guardian.accounting import InputError, confident_rdp, gnmax_rdp, threshold_rdp
from ostraka.guardian.accounting.numerics.arguments import Bound

GOOD = [[3, 2], [4, 1]]


@pytest.mark.parametrize(
    ("votes", "index"),
    [
        ([[1, 2], [np.nan, 1]], (1, 0)),
        ([[1, -1]], (0, 1)),
        ([[np.inf, 1]], (0, 0)),
        ([1, 2], ()),
        ([[1], [2]], ()),
    ],
)
def test_votes_are_named_with_the_first_offending_index(votes: object, index: tuple[int, ...]) -> None:
    with pytest.raises(InputError, match=r"^votes") as refusal:
        gnmax_rdp(votes, 1, [2], bound="theorem6")  # type: ignore[arg-type]
    assert refusal.value.argument == "votes"
    assert refusal.value.index == index


@pytest.mark.parametrize(("orders", "index"), [([2, 1], (1,)), ([np.nan], (0,)), ([[2, 3]], ())])
def test_orders(orders: object, index: tuple[int, ...]) -> None:
    with pytest.raises(InputError, match=r"^orders") as refusal:
        gnmax_rdp(GOOD, 1, orders, bound="theorem6")  # type: ignore[arg-type]
    assert refusal.value.index == index


@pytest.mark.parametrize("answered", [[True], [1, 0], [[True, False]], np.zeros(3, bool)])
def test_answered(answered: object) -> None:
    with pytest.raises(InputError, match=r"^answered"):
        confident_rdp(GOOD, 1, 1, 1, [2], answered, bound="theorem6")  # type: ignore[arg-type]


@pytest.mark.parametrize("value", [0.0, -1.0, np.nan, np.inf])
def test_sigma(value: float) -> None:
    with pytest.raises(InputError, match=r"^sigma"):
        gnmax_rdp(GOOD, value, [2], bound="theorem6")


def test_threshold_lattice_and_bound() -> None:
    with pytest.raises(InputError, match=r"^threshold"):
        threshold_rdp(GOOD, np.inf, 1, [2], bound="theorem6")
    with pytest.raises(InputError, match=r"^lattice"):
        gnmax_rdp(GOOD, 1, [2], bound="theorem6", lattice=-1.0)
    with pytest.raises(InputError, match=r"^bound"):
        gnmax_rdp(GOOD, 1, [2], bound="classic")  # type: ignore[arg-type]


@pytest.mark.parametrize("bound", ["worst_case", "theorem6", "exact"])
@pytest.mark.parametrize(
    ("argument", "value"),
    [("threshold", np.nan), ("sigma1", 0.0), ("sigma2", -1.0), ("lattice", np.inf)],
)
def test_confident_names_its_own_arguments(argument: str, value: float, bound: Bound) -> None:
    good: dict[str, Any] = {"threshold": 1.0, "sigma1": 1.0, "sigma2": 1.0}
    with pytest.raises(InputError, match=rf"^{argument}:") as refusal:
        confident_rdp(GOOD, orders=[2], answered=[True, True], bound=bound, **{**good, argument: value})
    assert refusal.value.argument == argument


def test_an_input_error_is_a_value_error() -> None:
    assert issubclass(InputError, ValueError)
