from collections.abc import Iterator
from typing import get_args

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from ostraka.common.learning.device import HOST, Device
from ostraka.services.teachers.assignment import Slice
from ostraka.services.teachers.config import MODEL_OF_HEAD, TrainingConfig
from ostraka.services.teachers.fitting import compose, fit_networks
from ostraka.services.teachers.guard import VoteGuard
from ostraka.services.teachers.layouts import layouts
from ostraka.services.teachers.layouts.layers import Grouped, Products, are_grouped, are_products
from ostraka.services.teachers.layouts.layouts import (
    FASTEST,
    TOGETHER,
    Alone,
    Arrangement,
    Layout,
    Mapped,
    fastest,
    make_stack,
    threads,
)
from ostraka.services.teachers.nets import Networks
from tests.fake_card import FakeCards

LAYOUTS: tuple[Layout, ...] = get_args(Layout)
TEACHERS = 5
CASES = [
    ("mlp", (4,)),
    ("square-mlp", (5, 5)),
    ("cnn", (8, 8)),
    ("square-cnn", (16, 17, 3)),
    ("resnet", (8, 8)),
]


@pytest.fixture(autouse=True)
def one_core_an_operation(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Small operations on shared cores wait for each other."""
    before = threads()
    monkeypatch.setattr(layouts, "threads", lambda: 1)
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def noise_around_centres(shape: tuple[int, ...], teacher: int, records: int = 21) -> Slice:
    random = np.random.default_rng(teacher)
    y = np.arange(records) % 3
    centres = np.random.default_rng(99).uniform(-1, 1, (3, *shape))
    X = 7 + centres[y] + random.normal(0, 0.3, (records, *shape))
    return Slice(X.astype(np.float32), y, (0, teacher))


def fit(
    model: str, shape: tuple[int, ...], layout: Layout | None, *, steps: int = 5, changed: int | None = None
) -> list[torch.nn.Module]:
    slices = [noise_around_centres(shape, teacher) for teacher in range(TEACHERS)]
    if changed is not None:
        slices[changed].X[3] += 1
    head = model if model in MODEL_OF_HEAD else None
    config = TrainingConfig.model_validate({"teachers": TEACHERS, "epochs": steps, "head": head})
    return fit_networks(slices, model, 3, config, lambda done, total: None, layout=layout)


def weights(net: torch.nn.Module) -> NDArray[np.float32]:
    return torch.cat([part.detach().flatten() for part in net.parameters()]).numpy()


@pytest.mark.heavy
@pytest.mark.parametrize(("model", "shape"), CASES)
def test_votes_are_the_same_in_every_layout(model: str, shape: tuple[int, ...]) -> None:
    nets = fit(model, shape, "loop")
    X = noise_around_centres(shape, 77, 300).X
    with torch.no_grad():
        alone = np.stack([net(torch.from_numpy(X)).argmax(dim=1).numpy() for net in nets])
    for layout in LAYOUTS:
        models = Networks(nets, shape, HOST, layout)
        assert np.array_equal(models.predict(X.reshape(300, -1), VoteGuard(3)), alone)
        assert np.array_equal(models.predict(X.reshape(300, -1), VoteGuard(3), slice(1, 4)), alone[1:4])


@pytest.mark.parametrize(("model", "shape"), CASES)
def test_scores_are_the_same_in_every_layout(model: str, shape: tuple[int, ...]) -> None:
    nets = fit(model, shape, "loop")
    X = noise_around_centres(shape, 77, 40).X.reshape(40, -1)
    scores = [
        Networks(nets, shape, HOST, layout).predict(X, VoteGuard(3, multi_label=True)) for layout in LAYOUTS
    ]
    for other in scores[1:]:
        np.testing.assert_allclose(other, scores[0], rtol=1e-4, atol=1e-5)


@pytest.mark.heavy
@pytest.mark.parametrize(("model", "shape"), CASES)
def test_every_layout_trains_to_the_same_weights(model: str, shape: tuple[int, ...]) -> None:
    trained = {layout: [weights(net) for net in fit(model, shape, layout, steps=3)] for layout in LAYOUTS}
    first = [weights(net) for net in fit(model, shape, "loop", steps=1)]
    assert all(
        not np.allclose(one, other, atol=1e-2) for one, other in zip(first, trained["loop"], strict=True)
    )
    for nets in trained.values():
        np.testing.assert_allclose(nets, trained["loop"], atol=2e-3)


@pytest.mark.heavy
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize(("model", "shape"), [("mlp", (4,)), ("cnn", (8, 8))])
def test_a_changed_record_moves_its_own_network_alone(
    model: str, shape: tuple[int, ...], layout: Layout
) -> None:
    before, again = fit(model, shape, layout), fit(model, shape, layout)
    after = fit(model, shape, layout, changed=2)
    same = [np.array_equal(weights(one), weights(two)) for one, two in zip(before, again, strict=True)]
    moved = [not np.array_equal(weights(one), weights(two)) for one, two in zip(before, after, strict=True)]
    assert same == [True] * TEACHERS
    assert moved == [row == 2 for row in range(TEACHERS)]


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_network_that_is_no_number_breaks_no_other(layout: Layout) -> None:
    nets = fit("mlp", (4,), "loop")
    X = noise_around_centres((4,), 77, 40).X
    whole = Networks(nets, (4,), HOST, layout).predict(X, VoteGuard(3))
    with torch.no_grad():
        next(nets[1].parameters()).fill_(torch.nan)
    broken = Networks(nets, (4,), HOST, layout).predict(X, VoteGuard(3))
    assert (broken[1] == 0).all()
    assert np.array_equal(np.delete(broken, 1, axis=0), np.delete(whole, 1, axis=0))


@pytest.mark.parametrize(
    ("model", "layout", "kind"),
    [
        ("mlp", "products", Products),
        ("logistic", "products", Products),
        ("square-mlp", "products", Products),
        ("cnn", "grouped", Grouped),
        ("square-cnn", "grouped", Grouped),
        ("cnn", "products", Mapped),
        ("resnet", "grouped", Mapped),
        ("mlp", "grouped", Mapped),
        ("cnn", "stacked", Mapped),
    ],
)
def test_layouts_know_the_layers_of_built_in_networks(model: str, layout: Layout, kind: type) -> None:
    assert isinstance(make_stack(layout, [compose(model, (8, 8), 3) for _ in range(2)]), kind)


def test_one_network_is_evaluated_as_it_is_where_a_layout_does_not_know_it() -> None:
    assert isinstance(make_stack("stacked", [compose("cnn", (8, 8), 3)]), Alone)


def test_modules_that_are_no_plain_chain_are_not_known() -> None:
    scaler, images = compose("cnn", (8, 8), 3)[0], compose("cnn", (8, 8), 3)[1][0][0]  # type: ignore[index]
    parts = torch.nn
    strange = parts.Conv2d(1, 2, 3, padding=1, padding_mode="reflect")
    tail = (parts.Flatten(), parts.Linear(128, 3))
    assert are_grouped(parts.Sequential(scaler, images, parts.Conv2d(1, 2, 3, padding=1), *tail))
    assert not are_grouped(parts.Sequential(scaler, images, strange, *tail))
    assert not are_grouped(parts.Sequential(scaler, images, parts.Conv2d(1, 2, 3, bias=False), *tail))
    assert not are_grouped(parts.Sequential(images, parts.Conv2d(1, 2, 3), *tail))
    assert not are_products(parts.Sequential(scaler, *tail, parts.Dropout()))


def test_unmeasured_models_train_one_after_another(cards: FakeCards) -> None:
    for device in (HOST, Device("cuda")):
        assert fastest("module:factory", device, "training") == "loop"
        assert fastest("module:factory", device, "prediction") == "workers"
        assert fastest("mlp", device, "training") == FASTEST["cpu", "training"]["mlp"]
    assert fastest("cnn", Device("cuda"), "training") == FASTEST["gpu", "training"]["cnn"]


@pytest.mark.parametrize("networks", [1, 2, 25, 250])
def test_every_network_is_in_one_part(networks: int, cards: FakeCards) -> None:
    for layout in LAYOUTS:
        for device in (HOST, Device("cuda"), Device(("cuda:1", "cuda:0"))):
            parts = Arrangement.of(layout, networks, device).parts
            assert [row for part in parts for row in part] == list(range(networks))
    together = Arrangement.of("products", networks, HOST)
    assert max(map(len, together.parts)) <= TOGETHER
    assert together.workers == threads()
    assert len(Arrangement.of("products", networks, Device("cuda")).parts) == 1


def test_several_cards_have_a_part_each_and_work_at_a_time(cards: FakeCards) -> None:
    both = Device(("cuda:1", "cuda:0"))
    arranged = Arrangement.of("products", 5, both)
    assert [list(part) for part in arranged.parts] == [[0, 1, 2], [3, 4]]
    assert (tuple(arranged.places), arranged.workers) == (both.places, 2)
    assert Arrangement.of("loop", 5, both).workers == 1
