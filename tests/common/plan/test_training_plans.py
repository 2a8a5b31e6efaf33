"""Plans whose queries are rounds of a training."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.mechanism import MECHANISMS, DpTtac, Recipe, Ttac, labelling
from ostraka.common.mechanism.arguments import make_mechanism
from ostraka.common.plan.limits import MAX_ROUND_RECORDS, check_ring
from ostraka.common.plan.plan import Plan

RECIPE = Recipe(model="mlp", parameters=30, steps=3, batch_size=8, learning_rate=0.1)
FIELDS: dict[str, Any] = {
    "nonce": bytes(16),
    "task_digest": bytes(32),
    "classes": 10,
    "mechanism": DpTtac(recipe=RECIPE, radius=1.0, sigma=30.0),
    "parties": ("a", "b", "c"),
    "quorum": 2,
    "queries": 39,
    "batch_size": 1,
}
POSITIVE = st.floats(min_value=0, exclude_min=True, allow_infinity=False)
COUNT = st.integers(1, 2**24)
RECIPES = st.builds(
    Recipe,
    model=st.sampled_from(["mlp", "logistic"]),
    parameters=COUNT,
    steps=st.integers(1, 2**9),
    batch_size=st.integers(1, 2**9),
    learning_rate=POSITIVE,
    decay=st.floats(0, 1, exclude_min=True),
    average_rate=POSITIVE,
)
TRAININGS = st.builds(Ttac, recipe=RECIPES) | st.builds(
    DpTtac,
    recipe=RECIPES,
    clip=st.sampled_from(["record", "party"]),
    radius=POSITIVE,
    sigma=st.floats(2.0**-16, 1e6),
)


def refusal(**changes: Any) -> str:
    with pytest.raises(OstrakaError) as caught:
        Plan(**FIELDS | changes)
    assert caught.value.code is ErrorCode.PLAN_INVALID
    return caught.value.message


@given(mechanism=TRAININGS, multi_label=st.booleans())
def test_a_training_of_either_task_comes_back_from_its_bytes(
    mechanism: Ttac | DpTtac, *, multi_label: bool
) -> None:
    plan = Plan(**FIELDS | {"mechanism": mechanism, "multi_label": multi_label})
    assert Plan.parse(plan.serialize()) == plan


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"variant": "vanishing"}, "set variant none"),
        ({"variant": "weighting"}, "set variant none"),
        ({"tally": "blind", "ring_bits": 32}, "set tally aggregate"),
        ({"encoding": "ckks", "ring_bits": 32}, "set encoding plain"),
        ({"ring_bits": 32}, "set ring_bits 64"),
        ({"batch_size": 2}, "set batch_size 1"),
        ({"adjacency": "label"}, "set the plan's adjacency to record"),
    ],
)
@pytest.mark.parametrize("mechanism", [Ttac(recipe=RECIPE), FIELDS["mechanism"]], ids=lambda m: m.kind)
def test_what_makes_no_sense_of_updates_is_refused(
    mechanism: Ttac | DpTtac, changes: dict[str, Any], named: str
) -> None:
    assert named in refusal(mechanism=mechanism, **changes)


def test_less_noise_than_a_step_and_models_larger_than_a_share_are_refused() -> None:
    assert "ask for more noise" in refusal(mechanism=DpTtac(recipe=RECIPE, radius=1.0, sigma=2.0**-17))
    large = RECIPE.model_copy(update={"parameters": 2**24 + 1})
    assert "choose a smaller model" in refusal(mechanism=Ttac(recipe=large))


@pytest.mark.parametrize(
    "changes",
    [
        {"steps": MAX_ROUND_RECORDS // RECIPE.batch_size + 1},
        {"steps": 2**32 - 1, "batch_size": 2**32 - 1},
    ],
)
def test_rounds_that_fill_a_partys_memory_are_refused(changes: dict[str, int]) -> None:
    assert "fewer steps" in refusal(mechanism=Ttac(recipe=RECIPE.model_copy(update=changes)))
    within = RECIPE.model_copy(update={"steps": MAX_ROUND_RECORDS // RECIPE.batch_size})
    assert Plan(**FIELDS | {"mechanism": Ttac(recipe=within)}).queries == 39


@pytest.mark.parametrize(
    "changes",
    [{"parameters": 0}, {"steps": 0}, {"decay": 0.0}, {"decay": 1.1}, {"learning_rate": 0.0}, {"model": ""}],
)
def test_recipes_that_train_nothing_are_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(OstrakaError, match=next(iter(changes))) as caught:
        Recipe(**RECIPE.model_dump() | changes)
    assert caught.value.code is ErrorCode.PLAN_INVALID


@pytest.mark.parametrize("model", ["mlp\nEnforced: nothing", "mlp\x1b[2K", "mlp, sigma 40", "m" * 257])
def test_a_models_name_says_nothing_else_to_who_reads_a_session(model: str) -> None:
    with pytest.raises(OstrakaError, match="model:") as caught:
        Recipe(**RECIPE.model_dump() | {"model": model})
    assert caught.value.code is ErrorCode.PLAN_INVALID


@pytest.mark.parametrize("model", ["square-mlp", "package.nets:build_2"])
def test_models_are_built_in_or_of_a_module(model: str) -> None:
    assert Recipe(**RECIPE.model_dump() | {"model": model}).model == model


def test_a_ring_holds_the_gradients_of_many_records() -> None:
    plan = Plan(**FIELDS)
    check_ring(plan, 2**40)
    with pytest.raises(OstrakaError) as caught:
        check_ring(plan, 2**46)
    assert caught.value.code is ErrorCode.PLAN_RING_TOO_SMALL


def test_trainings_are_no_mechanisms_that_label() -> None:
    sums = {kind for kind, known in MECHANISMS.items() if known.sums_records}
    assert set(MECHANISMS) - set(labelling()) - sums == {"ttac", "dp_ttac"}
    for kind in ("ttac", "dp_ttac"):
        with pytest.raises(OstrakaError, match=f"no mechanism {kind} that labels"):
            make_mechanism(kind, sigma=1.0)
