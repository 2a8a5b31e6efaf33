"""What people read of a release."""

import pytest

from ostraka.common.mechanism import (
    Bins,
    Boost,
    DpTtac,
    GnMax,
    Gradients,
    Mechanism,
    Moments,
    Recipe,
    Statistics,
)

RECIPE = Recipe(model="mlp", parameters=7, steps=1, batch_size=8, learning_rate=0.1)


@pytest.mark.parametrize(
    ("mechanism", "words"),
    [
        (GnMax(sigma=40.0), "label"),
        (DpTtac(recipe=RECIPE, radius=1.0, sigma=30.0), "sum of updates"),
        (Moments(columns=65, codes=10, sigma=2.0), "sum of 65 x 10 values for a model"),
        (
            Bins(columns=65, codes=10, sigma=2.0, gram_sigma=4.0),
            "sum of 65 x 10 and 65 x 65 values for a model",
        ),
        (Boost(bins=8, outputs=3, sigma=2.0), "sum of 8 x 3 residuals for a model"),
        (Gradients(parameters=650, sigma=2.0), "sum of gradients for a model of 650 parameters"),
        (Statistics(cells=40, columns=4, sigma=2.0), "count of records in 40 cells"),
    ],
)
def test_each_release_has_a_name(mechanism: Mechanism, words: str) -> None:
    assert mechanism.released == words
