"""Tang, Nasr, Mahloujifar, Shejwalkar, Song, Houmansadr and Mittal 2022: two figures, nine tables."""

from functools import partial

from benchmarks.reproduce.cell import Cell, drawing
from benchmarks.reproduce.measures import label_dp, label_dp_others, label_dp_seconds, randomized

NAME = "Tang et al. 2022"
TITLE = "Machine learning with differentially private labels"
FIGURES = range(1, 3)
TABLES = range(1, 10)

_NO_CIFAR = (
    "CIFAR's images are not in the data folder, and hundreds of ResNet-18 take a GPU; MNIST stands in."
)
_MLP = "multilayer perceptrons"
_SMALL = "scikit-learn's digits, 1,400, 100 teachers"
_DIGITS = f"{_SMALL}, {_MLP}"
_OTHER = "CIFAR's images are not in the data folder, and hundreds of ResNet-18 take a GPU; digits are easier."
_PAIRS = f"two of scikit-learn's digits side by side, 100 classes, 10,000, {_MLP}"
_OTHER_PAIRS = "CIFAR100's images are not in the data folder; pairs share digits and are far easier."
_OPTDIGITS = f"optdigits, of which scikit-learn's digits are a part, 3,800, 150 teachers, {_MLP}"
_OTHER_OPTDIGITS = "CINIC10's images are not in the data folder; digits are easier."
_BEST = "The best is chosen on test records, as in the paper."

CELLS = (
    drawing("tang-2022-figure-1", "The three pipelines"),
    drawing("tang-2022-figure-2", "PATE-FM"),
    drawing("tang-2022-table-1", "Which algorithms there are"),
    Cell(
        "tang-2022-table-2-rand-res",
        "Labels that RandRes leaves true",
        "CIFAR10 15.5 to 85.9%, CIFAR100 2.7 to 80.4%, CINIC10 15.4 to 85.9%",
        "as many labels as each data set has; which they are does not matter",
        randomized.private_labels,
        seeds=3,
        seconds=(1, 1),
        page="label-dp.md",
    ),
    Cell(
        "tang-2022-table-2-pate-fm",
        "Labels of PATE-FM's student on the training records that are right",
        "CIFAR10 93.2 to 94.9%",
        "MNIST, 20,000 records, 200 teachers",
        label_dp.labels,
        ("mnist.npz",),
        seconds=(7, 7200),
        other=_NO_CIFAR,
        page="label-dp.md",
    ),
    Cell(
        "tang-2022-table-2-pate-fm-digits",
        "The same on fewer, easier records",
        "CIFAR10 93.2 to 94.9%",
        _DIGITS,
        partial(label_dp.labels, on="digits"),
        seconds=(1, 40),
        other=_OTHER,
        page="label-dp.md",
    ),
    Cell(
        "tang-2022-table-3",
        "Students on CIFAR10 by NoiseCluster, RandRes and PATE-FM",
        "88.3% to 96.5%; best at 0.5 and 1 PATE-FM with LDP-Aug-Descent, 94.6 and 95.0%",
        "MNIST, 20,000 records, 200 teachers",
        label_dp.students,
        ("mnist.npz",),
        seconds=(4, 14400),
        other=_NO_CIFAR,
        page="label-dp.md",
    ),
    Cell(
        "tang-2022-table-3-pate-fm-rows",
        "PATE-FM's labels with DenoiseSSL, LDP-SSL and LDP-Aug-Descent",
        "93.3 to 95.1%",
        "MNIST, 20,000 records, 200 teachers",
        label_dp.learners_of_pate_fm,
        ("mnist.npz",),
        seconds=(4, 7200),
        other=_NO_CIFAR,
        page="label-dp.md",
    ),
    Cell(
        "tang-2022-table-3-digits",
        "The same on fewer, easier records",
        "88.3% to 96.5%",
        _DIGITS,
        partial(label_dp.students, on="digits"),
        seconds=(1, 30),
        other=_OTHER,
        page="label-dp.md",
    ),
    Cell(
        "tang-2022-table-3-digits-pate-fm-rows",
        "PATE-FM's rows on fewer, easier records",
        "93.3 to 95.1%",
        _DIGITS,
        partial(label_dp.learners_of_pate_fm, on="digits"),
        seconds=(2, 35),
        other=_OTHER,
        page="label-dp.md",
    ),
    Cell(
        "tang-2022-table-4",
        "Students on CIFAR100 by NoiseCluster, RandRes and PATE-FM",
        "1.8 to 79.5%; NoiseCluster 34.5%",
        _PAIRS,
        partial(label_dp.students, on="pairs"),
        seconds=(2, 130),
        other=_OTHER_PAIRS,
        page="label-dp.md",
    ),
    Cell(
        "tang-2022-table-4-pate-fm-rows",
        "PATE-FM's labels with DenoiseSSL, LDP-SSL and LDP-Aug-Descent",
        "30.7 to 65.3%",
        _PAIRS,
        partial(label_dp.learners_of_pate_fm, on="pairs"),
        seconds=(2, 100),
        other=_OTHER_PAIRS,
        why="Teachers have one record of a class: none has over half of the votes; the check asks for 80%.",
        page="label-dp.md",
    ),
    Cell(
        "tang-2022-table-5",
        "Students on CINIC10 by NoiseCluster, RandRes and PATE-FM",
        "20.8 to 88.7%; NoiseCluster 62.8%",
        _OPTDIGITS,
        partial(label_dp.students, on="optdigits"),
        ("optdigits.npz",),
        seconds=(6, 80),
        other=_OTHER_OPTDIGITS,
        page="label-dp.md",
    ),
    Cell(
        "tang-2022-table-5-pate-fm-rows",
        "PATE-FM's labels with DenoiseSSL, LDP-SSL and LDP-Aug-Descent",
        "14.8 to 88.1%",
        _OPTDIGITS,
        partial(label_dp.learners_of_pate_fm, on="optdigits"),
        ("optdigits.npz",),
        seconds=(2, 45),
        other=_OTHER_OPTDIGITS,
        page="label-dp.md",
    ),
    Cell(
        "tang-2022-table-6-cifar10",
        "Against ALIBI and LP-1ST on CIFAR10",
        "ours 94.6 to 96.5%, ALIBI 33.8 to 89.6%, LP-1ST 38.4 to 92.0%",
        _DIGITS,
        partial(label_dp_others.against, on="digits"),
        seconds=(2, 60),
        other=_OTHER,
        why=_BEST,
        page="label-dp.md",
    ),
    Cell(
        "tang-2022-table-6-cifar100",
        "Against ALIBI and LP-1ST on CIFAR100",
        "ours 46.0 to 75.3%, ALIBI 4.7 to 60.8%, LP-1ST 2.6 to 52.6%",
        _PAIRS,
        partial(label_dp_others.against, on="pairs"),
        seconds=(2, 50),
        other=_OTHER_PAIRS,
        why=_BEST,
        page="label-dp.md",
    ),
    Cell(
        "tang-2022-table-6-cinic10",
        "Against ALIBI and LP-1ST on CINIC10",
        "ours 65.6 to 88.7%, ALIBI 30.6 to 79.5%, LP-1ST 19.7 to 84.6%",
        _OPTDIGITS,
        partial(label_dp_others.against, on="optdigits"),
        ("optdigits.npz",),
        seconds=(2, 60),
        other=_OTHER_OPTDIGITS,
        why=_BEST,
        page="label-dp.md",
    ),
    Cell(
        "tang-2022-table-7",
        "Time to train learners",
        "2.3 h by LP-1ST to 47.6 h by DenoiseSSL on a P100",
        _DIGITS,
        label_dp_seconds.training,
        seconds=(1, 40),
        other="Other records and networks; steps are such that all learners take about as long.",
        page="label-dp.md",
    ),
    Cell(
        "tang-2022-table-8-rand-res",
        "Time to make labels private by RandRes",
        "0.5 s",
        "as many labels as CIFAR10 has",
        randomized.seconds,
        seconds=(1, 1),
        page="label-dp.md",
    ),
    Cell(
        "tang-2022-table-8-others",
        "Time to make labels private by the others",
        "ALIBI 0.03 s, NoiseCluster 21.3 h, PATE-FM 6,000 GPU hours",
        _DIGITS,
        label_dp_seconds.labels,
        seconds=(6, 60),
        other="SCAN and hundreds of ResNet-18 take days of GPUs; ALIBI's noise is exact here.",
        page="label-dp.md",
    ),
    Cell(
        "tang-2022-table-9-cnn",
        "The same as Table 6 with another network",
        "with VGG-16 and WRN-28-4 ours 93.1 to 95.4%, ALIBI 73.0 to 88.3%, LP-1ST 75.7 to 92.7%",
        f"{_SMALL}, convolutions",
        partial(label_dp_others.network, kind="cnn"),
        seconds=(3, 160),
        other=_OTHER,
        why=_BEST,
        page="label-dp.md",
    ),
    Cell(
        "tang-2022-table-9-linear",
        "The same as Table 6 with another network",
        "with VGG-16 and WRN-28-4 ours 93.1 to 95.4%, ALIBI 73.0 to 88.3%, LP-1ST 75.7 to 92.7%",
        f"{_SMALL}, logistic regression",
        partial(label_dp_others.network, kind="linear"),
        seconds=(2, 30),
        other=_OTHER,
        why=_BEST,
        page="label-dp.md",
    ),
)
