"""Mechanisms as a command line names them."""

import pytest

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.mechanism import (
    L1,
    Binary,
    Check,
    Confident,
    GnMax,
    Interactive,
    LnMax,
    Mechanism,
    NoiseCluster,
    Powerset,
    Tau,
)
from ostraka.common.mechanism.arguments import make_mechanism, read_mechanism

CHECK = Check(sigma=9.0, threshold=12.0)


@pytest.mark.parametrize(
    ("given", "made"),
    [
        ({"sigma": 4}, GnMax(sigma=4.0)),
        ({"sigma1": 9, "sigma2": 4, "threshold": 12}, Confident(sigma1=9.0, sigma2=4.0, threshold=12.0)),
        (
            {"sigma1": 9, "sigma2": 4, "threshold": 12, "confidence": 0.8},
            Interactive(sigma1=9.0, sigma2=4.0, threshold=12.0, confidence=0.8),
        ),
        ({"gamma": 0.1}, LnMax(gamma=0.1)),
        ({"sigma": 4}, Binary(sigma=4.0)),
        ({"sigma": 4, "check.sigma": 9, "check.threshold": 12}, Binary(sigma=4.0, check=CHECK)),
        ({"sigma": 4, "tau": 2}, Tau(sigma=4.0, tau=2.0)),
        (
            {"sigma": 4, "tau": 2, "check.sigma": 9, "check.threshold": 12},
            Tau(sigma=4.0, tau=2.0, check=CHECK),
        ),
        ({"sigma": 4, "tau1": 3}, L1(sigma=4.0, tau1=3.0)),
        ({"sigma": 4}, Powerset(sigma=4.0)),
        (
            {"sigma": 4, "max_positives": 2, "check.sigma": 9, "check.threshold": 12},
            Powerset(sigma=4.0, max_positives=2, check=CHECK),
        ),
        ({"sigma": 4}, NoiseCluster(sigma=4.0)),
    ],
)
def test_every_mechanism_has_its_options(given: dict[str, float], made: Mechanism) -> None:
    rest = dict.fromkeys({"sigma", "sigma1", "tau", "gamma", "max_positives"} - given.keys())
    assert make_mechanism(made.kind, **given, **rest) == made


@pytest.mark.parametrize(
    ("kind", "given", "told"),
    [
        ("gnmax", {}, "takes sigma; give sigma, as in gnmax:sigma=VALUE"),
        ("gnmax", {"sigma": 4, "tau": 2}, "takes sigma; there is no tau"),
        ("confident", {"sigma1": 1, "sigma2": 1}, "give threshold, as in confident:sigma1=VALUE,"),
        ("tau", {"sigma": 1, "tau": 1, "max_positives": 1}, "there is no max_positives"),
        ("binary", {"sigma": 1, "check.sigma": 1}, "give check.threshold as well"),
        ("powerset", {"sigma": 1, "check.threshold": 1}, "give check.sigma as well"),
        ("gnmax", {"sgma": 1}, r"there is no sgma \(did you mean sigma\?\)"),
        ("gnmax", {"kind": "lnmax", "sigma": 1}, "there is no kind"),
        ("powerset", {"sigma": 1, "max_positives": "2.5"}, "max_positives: must be a whole number, is '2.5'"),
        ("binary", {"sigma": 1, "check.sigma": -1, "check.threshold": 1}, "check.sigma: must be above 0"),
        ("gnmx", {"sigma": 1}, r"did you mean gnmax\?"),
        ("lottery", {"sigma": 1}, "choose one of gnmax"),
        ("binary", {"sigma": -1}, "sigma"),
        ("interactive", {"sigma1": 1, "sigma2": 1, "threshold": 1, "confidence": 2}, "confidence"),
    ],
)
def test_what_makes_no_mechanism_is_told(kind: str, given: dict[str, float], told: str) -> None:
    with pytest.raises(OstrakaError, match=told) as refused:
        make_mechanism(kind, **given)
    assert refused.value.code is ErrorCode.PLAN_INVALID


@pytest.mark.parametrize(
    ("text", "made"),
    [
        ("gnmax:sigma=40", GnMax(sigma=40.0)),
        (" gnmax: sigma = 4e1 ", GnMax(sigma=40.0)),
        ("powerset:sigma=4,max_positives=2", Powerset(sigma=4.0, max_positives=2)),
        ("binary:sigma=4,check.sigma=9,check.threshold=12", Binary(sigma=4.0, check=CHECK)),
    ],
)
def test_text_is_read(text: str, made: Mechanism) -> None:
    assert read_mechanism(text) == made


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("gnmax:", "not of the form NAME"),
        ("gnmax:sigma", "such as gnmax:sigma=40"),
        ("gnmax:sigma=1,", "not of the form"),
        (":sigma=1", "not of the form"),
        ("gnmax:sigma=1,sigma=2", "gives sigma twice"),
        ("gnmax:sigma=many", "sigma: must be a number, is 'many'"),
    ],
)
def test_text_that_says_no_mechanism_is_refused(text: str, told: str) -> None:
    with pytest.raises(OstrakaError, match=told) as refused:
        read_mechanism(text)
    assert refused.value.code is ErrorCode.PLAN_INVALID
