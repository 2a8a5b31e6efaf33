"""A mechanism as words of a command line, and back."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ostraka.client.run.asking_options import AskingOptions
from ostraka.common.mechanism import (
    Binary,
    Check,
    Confident,
    GnMax,
    Interactive,
    LnMax,
    Mechanism,
    NoiseCluster,
    Powerset,
    RandRes,
    RandResLabels,
    Tau,
)
from ostraka.common.mechanism.arguments import read_mechanism
from ostraka.common.planning.options import mechanism_words, option_words


def made(words: list[str]) -> Mechanism:
    option, text = words
    assert option == "--mechanism"
    return read_mechanism(text)


@pytest.mark.parametrize(
    "mechanism",
    [
        GnMax(sigma=40.0),
        Confident(sigma1=150.0, sigma2=40.0, threshold=200.0),
        Interactive(sigma1=10.0, sigma2=5.0, threshold=20.0, confidence=0.9),
        LnMax(gamma=0.05),
        Binary(sigma=1 / 3, check=Check(sigma=0.1 + 0.2, threshold=12.5)),
        Tau(sigma=20.0, tau=1.5),
        Powerset(sigma=20.0, max_positives=3),
        Powerset(sigma=20.0),
        NoiseCluster(sigma=5.0),
        RandRes(epsilon=1.0),
        RandResLabels(epsilon=1.0),
    ],
    ids=str,
)
def test_words_make_the_mechanism_again(mechanism: Mechanism) -> None:
    assert made(mechanism_words(mechanism)) == mechanism


@given(st.floats(1e-6, 1e6))
def test_no_digit_is_lost(sigma: float) -> None:
    assert made(mechanism_words(GnMax(sigma=sigma))) == GnMax(sigma=sigma)


def test_options_that_were_given_are_repeated_but_not_keys_of_settings() -> None:
    given = AskingOptions(parties=("a", "b"), align=True, batch_size=30)
    assert option_words(given) == ["--batch-size", "30", "--parties", "a,b"]
