"""Simulated cards: a torch backend with `card:0` and `card:1` that fails like real cards.

It computes on the CPU. Its tensors cannot be mixed with others, use up its memory, and are lost with it.
"""

import threading
import weakref
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.utils._python_dispatch import return_and_correct_aliasing
from torch.utils._pytree import tree_leaves, tree_map
from torch.utils.backend_registration import _setup_privateuseone_for_python_backend

from ostraka.common.learning import device

NAME = "card"
CARDS = 2
MEMORY = 2**30
GONE = "CUDA error: unspecified launch failure"
"""Torch's error, at every call, for a card that fell off its bus or whose memory broke."""
aten = torch.ops.aten
MIXED = {
    aten.copy_.default,
    aten._to_copy.default,
    aten.index.Tensor,
    aten.index_put_.default,
    aten.index_put.default,
}
"""Operations that may mix tensors of a card with others."""


@dataclass
class FakeCards:
    """Properties of the cards, and their faults.

    Attributes:
        memory: bytes of each card.
        others: bytes that other processes use on each.
        used: bytes that this process uses, by card.
        most: the most that it used, by card.
        failure: the error of every call; none: the cards work.
        calls: number of operations before they fail; none: any number.
        bfloat16: whether they support it.
        there: whether the driver reports them.
        used_before: whether this process computed on them.
    """

    memory: int = MEMORY
    others: int = 0
    used: list[int] = field(default_factory=lambda: [0] * CARDS)
    most: list[int] = field(default_factory=lambda: [0] * CARDS)
    failure: str | None = None
    calls: int | None = None
    bfloat16: bool = False
    there: bool = True
    used_before: bool = True
    _held: Counter[tuple[int, int]] = field(default_factory=Counter)
    _late: Exception | None = None

    def require(self) -> None:
        """Count an operation; raise the error of a broken card if it is broken."""
        if self.calls is not None:
            self.calls -= 1
            if self.calls < 0:
                self.calls, self.failure = None, GONE
        if self.failure is not None:
            self._fail(RuntimeError(self.failure))
        if self._late is not None and not _in_gradients():
            late, self._late = self._late, None
            self._fail(late)

    def _fail(self, exc: Exception) -> None:
        """Raise, or let the next call raise: an error in the gradient threads would end the process."""
        if _in_gradients():
            self._late = exc
            return
        try:
            raise exc
        finally:
            # Its frames hold tensors, and this frame would hold it.
            del exc

    def hold(self, card: int, tensor: "CardTensor") -> None:
        """Hold a tensor's memory (views use none); raise torch's error if none is left."""
        storage = tensor.whole.untyped_storage()
        key = card, storage.data_ptr()
        size = storage.nbytes()
        if key not in self._held:
            if self.used[card] + self.others + size > self.memory:
                self._fail(torch.OutOfMemoryError(f"CUDA out of memory. Tried to allocate {size} bytes."))
            self.used[card] += size
            self.most[card] = max(self.most[card], self.used[card])
        self._held[key] += 1
        weakref.finalize(tensor, _free, self.used, self._held, key, size)


def _in_gradients() -> bool:
    """Whether this is one of torch's gradient threads, which Python did not start."""
    return isinstance(threading.current_thread(), threading._DummyThread)


def _free(used: list[int], held: Counter[tuple[int, int]], key: tuple[int, int], size: int) -> None:
    held[key] -= 1
    if not held[key]:
        del held[key]
        used[key[0]] -= size


cards = FakeCards()


class CardTensor(Tensor):
    """A tensor on a card; the tensor inside it computes."""

    whole: Tensor
    __torch_function__ = torch._C._disabled_torch_function_impl  # type: ignore[assignment]

    @staticmethod
    def __new__(cls, whole: Tensor, card: int) -> "CardTensor":
        made: CardTensor = torch.Tensor._make_wrapper_subclass(
            cls,
            whole.size(),
            strides=whole.stride(),
            storage_offset=whole.storage_offset(),
            dtype=whole.dtype,
            layout=whole.layout,
            device=torch.device(NAME, card),
        )
        made.whole = whole
        return made

    @classmethod
    def __torch_dispatch__(  # type: ignore[override]
        cls, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        return _run(func, args, kwargs or {})


def _run(func: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    """Compute on the CPU what a card, or a card and the CPU, should compute."""
    cards.require()
    given = [leaf for leaf in tree_leaves((args, kwargs)) if isinstance(leaf, Tensor)]
    ours = [leaf for leaf in given if isinstance(leaf, CardTensor)]
    if ours and func not in MIXED:
        _require_one_place(given)
    asked = kwargs.get("device")
    to_host = asked is not None and torch.device(asked).type == "cpu"
    card = ours[0].device.index if ours else 0
    if asked is not None and not to_host:
        card = torch.device(asked).index or 0
    within = {**kwargs, **({"device": torch.device("cpu")} if "device" in kwargs else {})}
    result = func(*tree_map(_inner, args), **tree_map(_inner, within))
    if to_host or (func is aten.copy_.default and not isinstance(args[0], CardTensor)):
        return args[0] if func is aten.copy_.default else result

    def wrap(value: Any) -> Any:
        if not isinstance(value, Tensor):
            return value
        made = CardTensor(value, card)
        cards.hold(card, made)
        return made

    return return_and_correct_aliasing(func, args, kwargs, tree_map(wrap, result))  # type: ignore[no-untyped-call]


def _require_one_place(given: list[Tensor]) -> None:
    """Check that tensors are on one device, like CUDA: scalars may come from anywhere."""
    places = {str(leaf.device) for leaf in given if leaf.dim() > 0}
    if len(places) > 1:
        raise RuntimeError(f"Expected all tensors to be on the same device, but found {sorted(places)}")


def _inner(value: Any) -> Any:
    return value.whole if isinstance(value, CardTensor) else value


class _Module:
    """What `torch.cuda` is for CUDA."""

    def is_available(self) -> bool:
        return cards.there

    def is_initialized(self) -> bool:
        return cards.used_before

    def device_count(self) -> int:
        return CARDS if cards.there else 0

    def current_device(self) -> int:
        return 0

    def mem_get_info(self, place: torch.device) -> tuple[int, int]:
        cards.require()
        return cards.memory - cards.others - cards.used[place.index], cards.memory

    def empty_cache(self) -> None:
        cards.require()

    def synchronize(self, place: torch.device) -> None:
        cards.require()

    def max_memory_allocated(self, place: torch.device) -> int:
        return cards.most[place.index]

    def is_bf16_supported(self, *, including_emulation: bool) -> bool:
        return cards.bfloat16

    def utilization(self, place: torch.device) -> int:
        cards.require()
        return 42

    def get_device_properties(self, place: torch.device) -> object:
        return SimpleNamespace(name="Fake", total_memory=cards.memory, major=9, minor=0)

    def get_amp_supported_dtype(self) -> list[torch.dtype]:
        return [torch.bfloat16]

    def _is_in_bad_fork(self) -> bool:
        return False

    def manual_seed_all(self, seed: int) -> None:
        """Do nothing: no random numbers are drawn there."""


_GENERATOR = torch.Generator


class _Generator:
    """The CPU's generator for every device: the backend has none."""

    def __new__(cls, place: Any = "cpu") -> Any:
        return _GENERATOR("cpu")


def _enter(mode: Any) -> None:
    mode._before = torch.is_grad_enabled()
    torch.set_grad_enabled(False)


def _leave(mode: Any, *_: object) -> None:
    torch.set_grad_enabled(mode._before)


_TENSOR = torch.tensor


def _tensor(data: Any, *, device: Any = "cpu", **options: Any) -> Tensor:
    """Make a tensor on the CPU first, because a Python backend cannot create one itself."""
    return _TENSOR(data, **options).to(device)


_setup_privateuseone_for_python_backend(NAME, backend_module=_Module())
_LIBRARY: Any = torch.library.Library("_", "IMPL")  # type: ignore[no-untyped-call]
_LIBRARY.fallback(lambda op, *args, **kwargs: _run(op, args, kwargs), "PrivateUse1")
_LIBRARY.fallback(torch.library.fallthrough_kernel, "AutocastPrivateUse1")


@contextmanager
def fake_cards(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeCards]:
    """Make `cuda` mean these cards within the block, working and empty."""
    with monkeypatch.context() as patched:
        patched.setattr(device, "CUDA", NAME)
        patched.setattr(torch, "Generator", _Generator)
        patched.setattr(torch, "tensor", _tensor)
        # Inference tensors have no versions, which a Python backend keeps.
        patched.setattr(torch.inference_mode, "__enter__", _enter)
        patched.setattr(torch.inference_mode, "__exit__", _leave)
        patched.setattr(torch.Tensor, "pin_memory", lambda tensor: tensor)
        vars(cards).update(vars(FakeCards()))
        yield cards
        vars(cards).update(vars(FakeCards()))
