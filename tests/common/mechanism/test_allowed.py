"""Which mechanisms the words of a policy allow, and what people are told of them."""

import pytest

from ostraka.common.mechanism import DpTtac, GnMax, Mechanism, Moments, Recipe, Statistics, Ttac
from ostraka.common.mechanism.allowed import describe_allowed, allows, allows_sums

RECIPE = Recipe(model="mlp", parameters=7, steps=1, batch_size=8, learning_rate=0.1)
VOTE, SUM, COUNT = (
    GnMax(sigma=40.0),
    Moments(columns=2, codes=2, sigma=1.0),
    Statistics(cells=4, columns=1, sigma=1.0),
)
TRAINING, UNGUARANTEED = DpTtac(recipe=RECIPE, radius=1.0, sigma=30.0), Ttac(recipe=RECIPE)


@pytest.mark.parametrize(
    ("named", "allowed"),
    [
        (None, {VOTE, TRAINING}),
        ((), set()),
        (("votes",), {VOTE}),
        (("sums",), {SUM, COUNT}),
        (("votes", "sums", "dp_ttac"), {VOTE, SUM, COUNT, TRAINING}),
        (("statistics", "ttac"), {COUNT, UNGUARANTEED}),
    ],
)
def test_what_words_allow(named: tuple[str, ...] | None, allowed: set[Mechanism]) -> None:
    every = (VOTE, SUM, COUNT, TRAINING, UNGUARANTEED)
    assert {one for one in every if allows(one, named)} == allowed
    assert allows_sums(named) is bool({SUM, COUNT} & allowed)


@pytest.mark.parametrize(
    ("named", "said"),
    [
        (None, "votes and joint training, but no sums"),
        (("votes",), "votes, but no sums"),
        (("gnmax",), "gnmax, but no sums"),
        ((), "no votes, but no sums"),
        (
            ("sums", "votes", "dp_ttac"),
            "votes, dp_ttac, and sums over records, of which whoever asks makes a model",
        ),
        (("moments",), "no votes, and sums over records"),
    ],
)
def test_people_are_told_what_a_policy_allows(named: tuple[str, ...] | None, said: str) -> None:
    words = describe_allowed(named)
    assert words.startswith(f"It allows {said}")
    assert ("for ever" in words) is allows_sums(named)
