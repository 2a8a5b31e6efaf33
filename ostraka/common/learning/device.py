"""Where networks compute: the devices that a site names, found on this machine, their memory and health."""

import os
import re
import threading
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Protocol
from weakref import WeakSet

import structlog
from pydantic import AfterValidator

from ostraka.common.errors import ErrorCode, OstrakaError

if TYPE_CHECKING:
    import torch

CUDA = "cuda"
"""torch's name for NVIDIA cards; tests replace it with another kind."""
MPS = "mps"
"""torch's name for Apple GPUs."""
CPU = "cpu"
AUTO = "auto"
"""The first card, if there is one."""
MAX_CARDS = 16
"""Maximum number of cards of one party: as many as the largest available machines have."""
VISIBLE = "CUDA_VISIBLE_DEVICES"
"""The variable in which CUDA accepts cards, and slices of them, by their UUID."""
DRIVER = Path("/proc/driver/nvidia/version")
_NUMBERED = re.compile(r"cuda(?::(\d{1,2}))?")
_UUID = re.compile(r"(?:MIG|GPU)-[0-9A-Za-z/-]{1,80}")
GIB = 2**30
_HOST_NAME = "the CPU"
SHORTAGES = (
    "out of memory",
    "CUBLAS_STATUS_ALLOC_FAILED",
    "CUDNN_STATUS_ALLOC_FAILED",
    # cuDNN reports this if no algorithm has a workspace that fits.
    "unable to find an engine",
    "Unable to find a valid cuDNN algorithm",
)
"""Phrases in messages of torch, MPS, cuBLAS and cuDNN about a device that is short of memory."""


def check_name(name: str) -> str:
    """Return a device's name; raise ValueError for anything else."""
    if name in (AUTO, CPU, MPS) or _NUMBERED.fullmatch(name) or _UUID.fullmatch(name):
        return name
    raise ValueError(
        f"'{name}' is not a device: write auto, cpu, cuda, cuda:1, mps, or the UUID of a card or MIG slice as"
        " `nvidia-smi -L` prints it"
    )


def _check_names(names: str | tuple[str, ...]) -> str | tuple[str, ...]:
    if isinstance(names, str):
        return check_name(names)
    numbered = all(found and found[1] for found in map(_NUMBERED.fullmatch, names))
    if not numbered or len(set(names)) < len(names) or not 1 <= len(names) <= MAX_CARDS:
        raise ValueError(
            f'a list of devices names 1 to {MAX_CARDS} cards, each once, as ["cuda:0", "cuda:1"]'
        )
    return names


DeviceName = Annotated[str, AfterValidator(check_name)]
"""One device."""
DeviceNames = Annotated[str | tuple[str, ...], AfterValidator(_check_names)]
"""One device, or several cards over which an ensemble is spread."""


@dataclass(frozen=True)
class CardMemory:
    """Bytes of a card: `used` by all processes, out of `all`."""

    card: str
    used: int
    all: int


class DeviceState:
    """Health of a device: it works until teachers fail on a record of zeros, and again once all succeed.

    The state depends only on device and models, never on a query or a record. Safe to use from many threads.
    """

    def __init__(self) -> None:
        self._works = True
        self._failures = 0
        self._tell: list[Callable[[bool], object]] = []
        # Held during notifications, so that watchers hear of changes in their order.
        self._lock = threading.Lock()

    @property
    def works(self) -> bool:
        """Whether the device works, as far as is known."""
        return self._works

    @property
    def failures(self) -> int:
        """Number of predictions that failed because the device was gone."""
        return self._failures

    def watch(self, tell: Callable[[bool], object]) -> None:
        """Call `tell` with whether the device works, now and whenever that changes."""
        with self._lock:
            self._tell.append(tell)
            tell(self._works)

    def note_failure(self, exc: BaseException) -> None:
        """Note a prediction's exception: `server.device_gone` means that the device is gone."""
        if not isinstance(exc, OstrakaError) or exc.code is not ErrorCode.SERVER_DEVICE_GONE:
            return
        with self._lock:
            self._failures += 1
            if self._works:
                structlog.get_logger().error("device.gone", sentence=exc.message)
                self._change(works=False)

    def retry(self, probe: Callable[[], object]) -> None:
        """If the device is gone, call `probe`, which asks all teachers; it works again unless that raises."""
        if self._works:
            return
        failures = self._failures
        try:
            probe()
        except Exception:
            return
        with self._lock:
            # A prediction that failed while the probe ran means that the device is gone again.
            if failures == self._failures:
                structlog.get_logger().info("device.back")
                self._change(works=True)

    def _change(self, *, works: bool) -> None:
        self._works = works
        for tell in self._tell:
            tell(works)


class Batches(Protocol):
    """An evaluator of records in batches."""

    @property
    def size(self) -> int:
        """Number of records in a batch."""
        ...

    def __hash__(self) -> int:
        """Identity."""
        ...


class Device:
    """The CPU, one card, or several cards over which an ensemble is spread; safe to use from many threads.

    torch is imported only when a network asks for its place, so parties whose teachers do not need it skip
    it.

    Attributes:
        state: whether the device works.
    """

    def __init__(self, names: str | tuple[str, ...] = CPU, *, deterministic: bool = False) -> None:
        """Take names as allowed by `DeviceNames`; devices are only looked up when they are used.

        If `deterministic` is true, torch uses algorithms on cards that give the same result each time, as it
        does on the CPU anyway. This is slower, and affects the whole process.
        """
        self._deterministic = deterministic
        self.state = DeviceState()
        self._names = names
        self._shortages = 0
        self._batches: WeakSet[Batches] = WeakSet()
        # Guards both: networks on several cards run concurrently, and a scrape may come at any moment.
        self._lock = threading.Lock()

    @cached_property
    def places(self) -> tuple["torch.device", ...]:
        """The places of networks, in torch's terms; raises `device.missing` if one does not exist."""
        try:
            if isinstance(self._names, tuple):
                found = tuple(_card(name) for name in self._names)
            else:
                found = (_place(self._names),)
        except ImportError as exc:
            raise _missing(str(self._names), "torch is not installed") from exc
        if self._deterministic and is_cuda(found[0]):
            _compute_alike()
        return found

    @property
    def first(self) -> "torch.device":
        """The place of a single network; raises as `places`."""
        return self.places[0]

    @property
    def is_cpu(self) -> bool:
        """Whether there is no card; raises as `places`."""
        return self.first.type == CPU

    def require(self) -> None:
        """Raise `device.missing` unless each named card exists and multiplies matrices correctly.

        Raises `device.full` if its memory has no room for these matrices.
        """
        if self._names not in (AUTO, CPU):
            self.probe()

    def probe(self) -> None:
        """Multiply small matrices at every place; raise `device.*` if that fails or gives a wrong result."""
        for place in self.places:
            _multiply(place)

    def descriptions(self) -> list[str]:
        """Return a description of each place: name, memory, compute capability, driver; raises as `probe`."""
        if self._names == CPU or (self._names == AUTO and find_spec("torch") is None):
            return [_HOST_NAME]
        self.probe()
        return [_describe(place) for place in self.places]

    @property
    def shortages(self) -> int:
        """How often memory was too short for what was tried."""
        return self._shortages

    @property
    def micro_batch(self) -> int | None:
        """Current number of records evaluated together, the smallest of all batches; None without any."""
        with self._lock:
            return min((batches.size for batches in self._batches), default=None)

    def watch(self, batches: Batches) -> None:
        """Report the size of these batches as long as they are used."""
        with self._lock:
            self._batches.add(batches)

    def note_shortage(self) -> None:
        """Count a shortage of memory."""
        with self._lock:
            self._shortages += 1

    def memory(self) -> Iterator[CardMemory]:
        """Yield the memory of each card that reports it; skip lost cards, and cards not in use yet."""
        for place, module in self._find_used_cards():
            found = _ask(module, "mem_get_info", place)
            if found is not None:
                free, everything = found
                yield CardMemory(str(place), everything - free, everything)

    def utilization(self) -> Iterator[tuple[str, float]]:
        """Yield each card, and the part of the last second in which it computed; skips cards as `memory`.

        The figure covers all processes. torch asks NVIDIA's management library; without that no card reports
        it.
        """
        for place, module in self._find_used_cards():
            percent = _ask(module, "utilization", place)
            if percent is not None:
                yield str(place), percent / 100

    def _find_used_cards(self) -> Iterator[tuple["torch.device", Any]]:
        """Yield cards in use, with torch's module for them; this does not start any."""
        for place in self.__dict__.get("places", ()):
            module = card_module(place)
            if module is not None and _ask(module, "is_initialized"):
                yield place, module


def _ask(module: Any, question: str, *of: object) -> Any:
    """Return what torch's module for cards reports; None for a lost card, or a kind that reports nothing."""
    try:
        return getattr(module, question)(*of)
    # Any exception of a driver or its library: other metrics must still be read.
    except Exception:
        return None


HOST = Device()
"""The CPU, as the default."""


def card_module(place: "torch.device") -> Any:
    """Return torch's module for a kind of card, such as `torch.cuda`; None for the CPU."""
    import torch

    return None if place.type == CPU else torch.get_device_module(place)


def has_bfloat16(place: "torch.device") -> bool:
    """Whether networks can compute with bfloat16 there, without emulation."""
    if not is_cuda(place):
        return False
    supported: bool = card_module(place).is_bf16_supported(including_emulation=False)
    return supported


def is_cuda(place: "torch.device") -> bool:
    """Whether a place is an NVIDIA card."""
    return place.type == CUDA


def _compute_alike() -> None:
    """Make cards give the same numbers each time; must be called before anything is computed there."""
    import torch

    # cuBLAS reads it once; with it, no workspace changes the order of sums.
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    torch.use_deterministic_algorithms(True)


def is_out_of_memory(exc: BaseException) -> bool:
    """Whether a device ran out of memory; most libraries report that only in their messages."""
    import torch

    return isinstance(exc, torch.OutOfMemoryError) or any(words in str(exc) for words in SHORTAGES)


def memory_full(places: Iterable["torch.device"]) -> OstrakaError:
    """Return the error for work that does not fit the memory of these places."""
    return OstrakaError(
        ErrorCode.DEVICE_FULL,
        f"The memory of {' or '.join(map(str, places))} is full: stop other programs on it, name another "
        "device, or take a smaller model, smaller batches or fewer teachers.",
    )


def free_memory(place: "torch.device") -> None:
    """Release the memory of a card that torch keeps for later."""
    module = card_module(place)
    if module is not None:
        module.empty_cache()


def _place(name: str) -> "torch.device":
    import torch

    if name == AUTO:
        return _first_card()
    if _UUID.fullmatch(name):
        return _by_uuid(name)
    if name == MPS and not torch.backends.mps.is_available():
        raise _missing(name, "torch finds no Apple GPU")
    return torch.device(name) if name in (CPU, MPS) else _card(name)


def _first_card() -> "torch.device":
    import torch

    if torch.get_device_module(CUDA).is_available():
        return torch.device(CUDA, 0)
    return torch.device(MPS if torch.backends.mps.is_available() else CPU)


def _card(name: str) -> "torch.device":
    """Return the card of this number, the first if none is given."""
    import torch

    number = int(name.partition(":")[2] or 0)
    module = torch.get_device_module(CUDA)
    cards = module.device_count() if module.is_available() else 0
    if number >= cards:
        found = "1 card" if cards == 1 else f"{cards or 'no'} cards"
        raise _missing(name, f"torch finds {found}")
    return torch.device(CUDA, number)


def _by_uuid(name: str) -> "torch.device":
    """Make CUDA show only this card or slice, which is possible until it is first used."""
    import torch

    if os.environ.get(VISIBLE) != name and torch.get_device_module(CUDA).is_initialized():
        raise _missing(name, "another card is in use by this process")
    os.environ[VISIBLE] = name
    try:
        return _card(CUDA)
    except OstrakaError as exc:
        raise _missing(name, "the driver shows no such card or slice") from exc


def _multiply(place: "torch.device") -> None:
    """Raise `device.full` or `device.missing` unless a small product of whole numbers is right there."""
    import torch

    numbers = torch.arange(64, dtype=torch.float32).reshape(8, 8)
    try:
        product = (numbers.to(place) @ numbers.to(place)).cpu()
    except RuntimeError as exc:
        if is_out_of_memory(exc):
            raise memory_full([place]) from exc
        raise _missing(str(place), f"it does not multiply ({type(exc).__name__})") from exc
    if not torch.equal(product, numbers @ numbers):
        raise _missing(str(place), "it multiplies wrongly")


def _describe(place: "torch.device") -> str:
    if place.type == CPU:
        return _HOST_NAME
    if not is_cuda(place):
        return f"{place} (Apple)"
    module = card_module(place)
    card = module.get_device_properties(place)
    return (
        f"{place} ({card.name}, {card.total_memory / GIB:.0f} GiB, compute capability"
        f" {card.major}.{card.minor}, driver {_driver()})"
    )


def _driver() -> str:
    """Return the version of NVIDIA's driver; a question mark if the system does not report it."""
    try:
        found = re.search(r"\d+\.\d+[.\d]*", DRIVER.read_text(encoding="utf-8"))
    except OSError:
        return "?"
    return found[0] if found else "?"


def _missing(name: str, problem: str) -> OstrakaError:
    return OstrakaError(
        ErrorCode.DEVICE_MISSING,
        f"The device {name} cannot be used: {problem}; install its driver and a build of torch for it, or "
        "name another device, such as auto or cpu.",
    )
