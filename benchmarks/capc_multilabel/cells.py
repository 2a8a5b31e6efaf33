"""Measurements of every federation and method, each done once and cached."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from pydantic import TypeAdapter

from benchmarks.caching import digest
from benchmarks.capc_multilabel.central import METHODS, Outcome, problem_of
from benchmarks.capc_multilabel.data import DELTA, EPSILONS, QUERYING, SEEDS, Setting, Split, deal, load
from benchmarks.capc_multilabel.models import LEARNING, Said, load_or_predict
from benchmarks.capc_multilabel.retraining import Federation, federation
from benchmarks.capc_multilabel.sessions import BLOCK
from ostraka.common.files.durable import write_atomic

MECHANISMS = ("binary", "tau")
CENTRAL: Sequence[tuple[str, float | None]] = (
    ("non-private", None),
    *((method, epsilon) for epsilon in EPSILONS for method in METHODS if method != "non-private"),
)
"""The methods of Table 2, with their epsilons."""
Kept = TypeVar("Kept")


@dataclass(frozen=True)
class Retrained:
    """One seed's federation with one mechanism."""

    dataset: str
    parties: int
    mechanism: str
    seed: int
    found: Federation


@dataclass(frozen=True)
class Central:
    """A method's outcome for one seed; the epsilon is None without privacy."""

    dataset: str
    method: str
    epsilon: float | None
    seed: int
    found: Outcome


class Bench:
    """One dataset, with its measurements cached in a folder."""

    def __init__(self, setting: Setting, cache: Path) -> None:
        self._setting = setting
        self._cache = cache / setting.name
        self._records = load(setting)
        self._cache.mkdir(parents=True, exist_ok=True)

    def retrain(self, mechanism: str, seed: int) -> Retrained:
        """Return a federation of Table 1 with one of MECHANISMS, or of Table 12 with "checked"."""
        name = self._setting.name
        parties = self._setting.parties
        chosen = getattr(self._setting, mechanism)

        def measure() -> Federation:
            return federation(*self._dealt(parties, seed), chosen, seed)

        settings = digest(*self._models(parties), chosen, EPSILONS, DELTA, BLOCK)
        found = self._load_or_measure(f"retrained-{mechanism}-{seed}-{settings}", Federation, measure)
        return Retrained(name, parties, mechanism, seed, found)

    def central(self, method: str, epsilon: float | None, seed: int) -> Central:
        """Return one of METHODS at an epsilon."""

        def measure() -> Outcome:
            dealt = self._dealt(self._setting.teachers, seed)
            return METHODS[method](self._setting, *dealt, epsilon or 0.0, seed)

        named = method.lower().replace(", ", "-").replace(" ", "-")
        one = self._setting
        students = one.central, one.powerset, one.student, problem_of(one).network, problem_of(one).training
        settings = digest(*self._models(one.teachers), *students, DELTA, BLOCK)
        found = self._load_or_measure(f"central-{named}-{epsilon or 0:g}-{seed}-{settings}", Outcome, measure)
        return Central(one.name, method, epsilon, seed, found)

    def _dealt(self, shares: int, seed: int) -> tuple[Split, Said]:
        split = deal(*self._records, shares, self._setting.pool, seed)
        file = self._cache / f"said-{shares}-{seed}-{digest(*self._models(shares))}.npz"
        return split, load_or_predict(split, seed, file)

    def _models(self, shares: int) -> tuple[object, ...]:
        """Return the settings that determine the predictions of `shares` parties' models."""
        return shares, self._setting.pool, QUERYING, LEARNING

    def _load_or_measure(self, name: str, kind: type[Kept], measure: Callable[[], Kept]) -> Kept:
        file = self._cache / f"{name}.json"
        form = TypeAdapter(kind)
        if not file.exists():
            write_atomic(file, form.dump_json(measure(), indent=1).decode())
        return form.validate_json(file.read_bytes())


def cells(setting: Setting, cache: Path, advance: Callable[[], None]) -> Iterator[Retrained | Central]:
    """Yield all cells of a dataset, Table 1's first; `advance` is called after each."""
    bench = Bench(setting, cache)
    for seed in range(setting.seeds):
        for mechanism in MECHANISMS:
            yield bench.retrain(mechanism, seed)
            advance()
    for seed in range(min(SEEDS, setting.seeds)):
        for method, epsilon in CENTRAL:
            yield bench.central(method, epsilon, seed)
            advance()


def how_many(setting: Setting) -> int:
    """Return the number of a dataset's cells."""
    return setting.seeds * len(MECHANISMS) + min(SEEDS, setting.seeds) * len(CENTRAL)
