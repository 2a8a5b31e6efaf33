import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ostraka.client.training.training_state import AveragedModel
from ostraka.common.mechanism import DpTtac, Recipe, Ttac

STEP = 2.0**-16


def _recipe(size: int, **other: float) -> Recipe:
    return Recipe(model="mlp", parameters=size, steps=3, batch_size=2, learning_rate=0.25, decay=0.5, **other)


@given(st.integers(0, 2**32 - 1), st.integers(0, 4))
def test_the_average_moves_as_algorithm_1_says_though_variates_are_never_sent(seed: int, number: int) -> None:
    random = np.random.default_rng(seed)
    recipe, teachers, size = _recipe(5, average_rate=0.75), 4, 5
    theta, variates = random.normal(size=size), random.normal(size=(teachers, size))
    c, rate = variates.mean(axis=0), recipe.learning_rate * recipe.decay**number
    local = theta + random.integers(-99, 99, size=(teachers, size)) / 2**20
    changed = variates - c + (theta - local) / (recipe.steps * rate)
    total = np.rint((local - theta).sum(axis=0) * 2**8 / STEP).astype(np.int64)
    average = AveragedModel(theta, c, number).after(
        Ttac(recipe=recipe), total, teachers_in=teachers, teachers=teachers, records=1
    )
    np.testing.assert_allclose(
        average.theta, theta + recipe.average_rate * (local - theta).mean(axis=0), atol=1e-7
    )
    np.testing.assert_allclose(average.c, c + (changed - variates).mean(axis=0), atol=1e-6)
    assert average.number == number + 1


def test_a_party_that_dropped_out_leaves_the_variate_where_it_was_in_its_part() -> None:
    before = AveragedModel(np.zeros(2), np.array([1.0, -1.0]))
    after = before.after(Ttac(recipe=_recipe(2)), np.zeros(2, np.int64), teachers_in=1, teachers=4, records=1)
    np.testing.assert_array_equal(after.c, [0.75, -0.75])
    np.testing.assert_array_equal(after.theta, before.theta)


def test_clipped_updates_count_in_radii() -> None:
    mechanism = DpTtac(recipe=_recipe(1), clip="party", radius=0.5, sigma=1.0)
    after = AveragedModel(np.zeros(1), np.zeros(1)).after(
        mechanism, np.array([2**16]), teachers_in=2, teachers=2, records=1
    )
    assert after.theta[0] == 0.25
    assert after.c[0] == pytest.approx(-0.25 / (3 * 0.25))


def test_gradients_of_records_are_one_step_of_the_average_and_its_variate() -> None:
    mechanism = DpTtac(recipe=_recipe(2, average_rate=2.0), radius=4.0, sigma=1.0)
    after = AveragedModel(np.array([1.0, 1.0]), np.ones(2), 1).after(
        mechanism, np.array([2**16, -(2**17)]), teachers_in=1, teachers=2, records=8
    )
    np.testing.assert_array_equal(after.c, [0.5, -1.0])
    np.testing.assert_array_equal(after.theta, [1 - 2.0 * 0.125 * 0.5, 1 + 2.0 * 0.125])
