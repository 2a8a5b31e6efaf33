"""Devices by name, on cards that are no machine's."""

import os

import pytest
import torch
from pydantic import TypeAdapter, ValidationError

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.learning import device as module
from ostraka.common.learning.device import AUTO, CPU, MAX_CARDS, VISIBLE, CardMemory, Device, DeviceNames
from tests.fake_card import GONE, NAME, FakeCards

NAMES: TypeAdapter[str | tuple[str, ...]] = TypeAdapter(DeviceNames)
SLICE = "MIG-2ccb7a6a-1f3c-5e1b-9e0a-0c1d2e3f4a5b"


@pytest.mark.parametrize("names", ["auto", "cpu", "cuda", "cuda:11", "mps", SLICE, ["cuda:0", "cuda:1"]])
def test_devices_are_taken_by_name(names: str | list[str]) -> None:
    assert NAMES.validate_python(names) == (names if isinstance(names, str) else tuple(names))


@pytest.mark.parametrize(
    "names",
    ["gpu", "cuda:", "cuda:-1", "cuda:123", "MIG-", [], ["cuda"], ["cuda:0", "cuda:0"], ["cuda:0", "cpu"], 1],
)
def test_what_is_no_device_is_refused(names: object) -> None:
    with pytest.raises(ValidationError):
        NAMES.validate_python(names)


def test_a_list_is_no_longer_than_machines_have_cards() -> None:
    cards = [f"cuda:{number}" for number in range(MAX_CARDS + 1)]
    NAMES.validate_python(cards[:-1])
    with pytest.raises(ValidationError):
        NAMES.validate_python(cards)


def test_cards_are_found_by_their_numbers(cards: FakeCards) -> None:
    assert Device("cuda").places == (torch.device(NAME, 0),)
    assert Device(("cuda:1", "cuda:0")).places == (torch.device(NAME, 1), torch.device(NAME, 0))
    assert Device(AUTO).first == torch.device(NAME, 0)
    assert Device(CPU).is_cpu
    cards.there = False
    assert Device(AUTO).is_cpu


@pytest.mark.parametrize("names", ["cuda", "cuda:2", ("cuda:0", "cuda:2"), SLICE])
def test_a_card_that_is_not_there_is_an_error_and_no_slow_cpu(
    names: str | tuple[str, ...], cards: FakeCards, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(VISIBLE, raising=False)
    if names == "cuda":
        cards.there = False
    with pytest.raises(OstrakaError) as refused:
        Device(names).require()
    assert refused.value.code is ErrorCode.DEVICE_MISSING
    assert "name another device" in refused.value.message


def test_this_machine_has_the_cards_that_torch_finds() -> None:
    if torch.cuda.is_available():
        Device("cuda").require()
    else:
        with pytest.raises(OstrakaError, match="torch finds no cards"):
            Device("cuda").require()


def test_a_slice_is_all_that_cuda_shows(cards: FakeCards, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VISIBLE, SLICE)
    assert Device(SLICE).first == torch.device(NAME, 0)
    cards.used_before = False
    monkeypatch.delenv(VISIBLE)
    assert Device(SLICE).first == torch.device(NAME, 0)
    assert os.environ[VISIBLE] == SLICE


def test_cards_compute_alike_each_time_where_that_is_asked_for(
    cards: FakeCards, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[bool] = []
    monkeypatch.setattr(torch, "use_deterministic_algorithms", asked.append)
    monkeypatch.delenv("CUBLAS_WORKSPACE_CONFIG", raising=False)
    for device in (Device("cuda"), Device(CPU, deterministic=True)):
        assert device.places
        assert not asked
    assert Device("cuda", deterministic=True).places
    assert asked == [True]
    assert os.environ["CUBLAS_WORKSPACE_CONFIG"]


def test_a_card_that_computes_nothing_is_an_error(cards: FakeCards, monkeypatch: pytest.MonkeyPatch) -> None:
    cards.failure = GONE
    for refused in (Device("cuda").require, Device(AUTO).descriptions):
        with pytest.raises(OstrakaError, match="does not multiply"):
            refused()
    Device(AUTO).require()


def test_a_card_that_multiplies_wrongly_is_an_error(
    cards: FakeCards, monkeypatch: pytest.MonkeyPatch
) -> None:
    right = torch.Tensor.cpu
    monkeypatch.setattr(torch.Tensor, "cpu", lambda tensor: right(tensor) + 1)
    with pytest.raises(OstrakaError, match="multiplies wrongly") as refused:
        Device("cuda").require()
    assert refused.value.code is ErrorCode.DEVICE_MISSING


def test_a_card_that_is_full_is_there(cards: FakeCards) -> None:
    cards.others = cards.memory
    with pytest.raises(OstrakaError, match="memory of card:0 is full") as refused:
        Device("cuda").require()
    assert refused.value.code is ErrorCode.DEVICE_FULL


def test_a_card_is_described_as_it_is(
    cards: FakeCards, monkeypatch: pytest.MonkeyPatch, tmp_path: "os.PathLike[str]"
) -> None:
    driver = os.path.join(tmp_path, "version")
    with open(driver, "w", encoding="utf-8") as file:
        file.write(
            "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.15  Tue Mar  5 22:23:56 UTC 2024\n"
        )
    monkeypatch.setattr(module, "DRIVER", type(module.DRIVER)(driver))
    said = "card:1 (Fake, 1 GiB, compute capability 9.0, driver 550.54.15)"
    assert Device("cuda:1").descriptions() == [said]
    assert Device(CPU).descriptions() == ["the CPU"]


def test_memory_is_told_of_cards_in_use_and_of_none_that_is_gone(cards: FakeCards) -> None:
    device = Device(("cuda:0", "cuda:1"))
    assert not list(device.memory())
    held = torch.zeros(10, device=device.places[1])
    assert list(device.memory()) == [
        CardMemory("card:0", 0, cards.memory),
        CardMemory("card:1", 40, cards.memory),
    ]
    cards.failure = GONE
    assert not list(device.memory())
    assert held.device == device.places[1]
