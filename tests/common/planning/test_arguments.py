"""Mechanisms as a command line names them."""

import pytest

from common.errors import ErrorCode, OstrakaError
from common.mechanism import AnyMechanism, Binary, Check, Confident, GnMax, LnMax, Powerset, Tau
from common.planning.arguments import make_mechanism


@pytest.mark.parametrize(
    ("kind", "given", "made"),
    [
        ("gnmax", {"sigma": 4.0}, GnMax(sigma=4.0)),
        ("lnmax", {"gamma": 0.5}, LnMax(gamma=0.5)),
        (
            "confident",
            {"sigma1": 9.0, "sigma2": 4.0, "threshold": 7.0},
            Confident(sigma1=9.0, sigma2=4.0, threshold=7.0),
        ),
        ("binary", {"sigma": 4.0}, Binary(sigma=4.0)),
        (
            "tau",
            {"sigma": 4.0, "tau": 1.5, "sigma1": 9.0, "threshold": 7.0},
            Tau(sigma=4.0, tau=1.5, check=Check(sigma=9.0, threshold=7.0)),
        ),
        ("powerset", {"sigma": 4.0, "max_positives": 2}, Powerset(sigma=4.0, max_positives=2)),
    ],
)
def test_parameters_make_a_mechanism(kind: str, given: dict[str, float], made: AnyMechanism) -> None:
    assert make_mechanism(kind, **given, confidence=None) == made


@pytest.mark.parametrize(
    ("kind", "given", "told"),
    [
        ("median", {}, "there is no mechanism median"),
        ("gnmax", {}, "give --sigma"),
        ("gnmax", {"sigma": 4.0, "tau": 1.0}, "leave out --tau"),
        ("powerset", {"sigma": 4.0, "max_positives": 0}, "max_positives"),
        ("binary", {"sigma": 4.0, "threshold": 7.0}, "give --sigma1 as well"),
    ],
)
def test_what_makes_no_mechanism_is_told(kind: str, given: dict[str, float], told: str) -> None:
    with pytest.raises(OstrakaError, match=told) as refused:
        make_mechanism(kind, **given)
    assert refused.value.code is ErrorCode.PLAN_INVALID
