"""Where to get the benchmarks' data, and whether local files are the same: `python -m
benchmarks.get_data`."""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from benchmarks.published import DATA
from ostraka.common.console.cli import ExitStatus, run

app = typer.Typer(add_completion=False)
THERE = "there"
MISSING = "not there"
OTHER = "another file"


@dataclass(frozen=True)
class DataSet:
    """One file of the data folder.

    Attributes:
        file: its name there.
        sha256: digest of the file used for published numbers.
        source: where to get the original data.
        holds: its arrays.
    """

    file: str
    sha256: str
    source: str
    holds: str

    def state(self, folder: Path) -> str:
        """Return whether the file exists, and is the same."""
        path = folder / self.file
        if not path.is_file():
            return MISSING
        with path.open("rb") as file:
            return THERE if hashlib.file_digest(file, "sha256").hexdigest() == self.sha256 else OTHER


_SPLIT = "X_train, y_train, X_test, y_test"
_MULAN = "Mulan's multi-label data sets, https://mulan.sourceforge.net/datasets-mlc.html"
_VOTES = "votes of 250 teachers, published with Papernot et al. 2017 and 2018: https://github.com/tensorflow/privacy"
DATA_SETS = (
    DataSet(
        "mnist.npz",
        "d2fc8bab397b964798b4c839bd1e705e10a4bb65f4d56a88002229d145796751",
        "MNIST, https://yann.lecun.com/exdb/mnist or https://www.openml.org/d/554",
        f"{_SPLIT}: 60,000 and 10,000 images (28, 28), uint8",
    ),
    DataSet(
        "adult.npz",
        "3189e708f34e4279489818b7cf2ea290b4ae4f19c4ac5a6ef859e206af307fde",
        "Adult, https://archive.ics.uci.edu/dataset/2/adult",
        f"{_SPLIT}: 32,561 and 16,281 records of 104 indicators and numbers, feature_names",
    ),
    DataSet(
        "optdigits.npz",
        "fb2f2b0cb05cbed646623988f0c1a93fe909fc0bee52f5aa14d2f4424930eedb",
        "Optical digits, https://archive.ics.uci.edu/dataset/80",
        f"{_SPLIT}: 3,823 and 1,797 images of 64 shades",
    ),
    DataSet(
        "multilabel_emotions.npz",
        "a6aab19d4809a8448c16c0d7a8237f036b4eb612279e021091e80c2c7e235025",
        _MULAN,
        f"{_SPLIT}: 391 and 202 records, 6 labels",
    ),
    DataSet(
        "multilabel_yeast.npz",
        "6a848fc05586322e0d62d8f3d15d323a6beb6dfef0c3a7bbc09a798545375bab",
        _MULAN,
        f"{_SPLIT}: 1,500 and 917 records, 14 labels",
    ),
    DataSet(
        "multilabel_mediamill.npz",
        "e738c1ae4472eb9fad9cbda2883054afdc55243ffd10d238760c23b3d766cc7a",
        _MULAN,
        f"{_SPLIT}: 30,993 and 12,914 records, 101 labels",
    ),
    DataSet(
        "golden_pate.json",
        "f11d035248daabeee309b935a8a9e5a656e482834035ae0f17eff1ef9ee124f9",
        "made with research/pate_2018 of https://github.com/tensorflow/privacy on the votes below",
        "costs of histograms and of whole runs by the reference code",
    ),
    DataSet(
        "votes/mnist_250_teachers_counts.npy",
        "e72edea29aa99e32920baf7ab37411264e981266595dcbe8bb234ec951b9d6d7",
        _VOTES,
        "histograms of 9,000 test images of MNIST, (9000, 10)",
    ),
    DataSet(
        "votes/mnist_test_labels.npy",
        "ff7e84b144c037e7215dfa787d6773550c5db83029d9a4e7bae6e90f605f081d",
        "MNIST, as above",
        "classes of the 10,000 test images",
    ),
    DataSet(
        "votes/svhn_250_teachers_counts.npy",
        "50b88e27da91659ae01e502bc6670f8c990653cf19a0c8859a740d766f4b5845",
        _VOTES,
        "histograms of the 26,032 test images of SVHN, (26032, 10)",
    ),
    DataSet(
        "votes/svhn_test_labels.npy",
        "f4a3c90af705d45a11070a92d79a3fd5e51afc93b588b609263a149258bc1a91",
        "SVHN, http://ufldl.stanford.edu/housenumbers",
        "classes of the 26,032 test images",
    ),
)
NOBODY = (
    "Glyph (Papernot et al. 2018) is not public. CheXpert, MIMIC-CXR and PadChest (Dziedzic et al. 2023) are "
    "given to each applicant and not passed on. CIFAR, CINIC10 and VOC are public; nothing here takes them."
)


@app.command()
def check(
    data: Annotated[Path, typer.Option(help="The data folder.")] = DATA,
) -> None:
    """Says of each file of the data folder where people get it, and whether it is there and the same.

    Nothing is downloaded. Status 3 where a file is not there or is another one.
    """
    table = Table("file", "is", "holds", "from")
    for row in _rows(data):
        table.add_row(*row)
    console = Console(width=max(150, Console().width))
    console.print(table, f"Folder: {data}", NOBODY, sep="\n", highlight=False)
    if any(one.state(data) != THERE for one in DATA_SETS):
        raise typer.Exit(ExitStatus.STOPPED)


def _rows(data: Path) -> Iterator[tuple[str, str, str, str]]:
    for one in DATA_SETS:
        yield one.file, one.state(data), one.holds, one.source


if __name__ == "__main__":
    run(app)
