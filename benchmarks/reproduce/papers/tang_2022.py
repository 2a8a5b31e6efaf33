"""Tang, Nasr, Mahloujifar, Shejwalkar, Song, Houmansadr and Mittal 2022: two figures, nine tables."""

from benchmarks.reproduce.cell import Cell, drawing, not_yet
from benchmarks.reproduce.measures import label_dp, randomized

NAME = "Tang et al. 2022"
TITLE = "Machine learning with differentially private labels"
FIGURES, TABLES = range(1, 3), range(1, 10)

_NO_CIFAR = (
    "CIFAR's images are not in the data folder, and hundreds of ResNet-18 take a GPU; MNIST stands in."
)
_IMAGES = "Its images are public but not in the data folder; each number takes hundreds of ResNet-18 on GPUs."

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
    not_yet("tang-2022-table-4", "Students on CIFAR100", "1.8 to 79.5%", _IMAGES),
    not_yet("tang-2022-table-5", "Students on CINIC10", "14.8 to 88.7%", _IMAGES),
    not_yet(
        "tang-2022-table-6",
        "Against ALIBI and LP-1ST",
        "ours 94.6 to 96.5%, ALIBI 33.8 to 89.6%, LP-1ST 38.4 to 92.0% on CIFAR10",
        "ALIBI and LP-1ST with mixup are not implemented; LDP-Normal is LP-1ST without mixup.",
    ),
    not_yet(
        "tang-2022-table-7",
        "Time to train learners",
        "2.3 h to 47.6 h on a P100",
        "`benchmarks.label_dp` gives all learners about the same time; ALIBI and LP-1ST are not implemented.",
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
    not_yet(
        "tang-2022-table-8-others",
        "Time to make labels private by the others",
        "ALIBI 0.03 s, NoiseCluster 21.3 h, PATE-FM 6,000 GPU hours",
        "SCAN and hundreds of ResNet-18 take days of GPUs; ALIBI is not implemented.",
    ),
    not_yet(
        "tang-2022-table-9",
        "The same with VGG-16 and WRN-28-4",
        "ours 93.1 to 96.5%",
        "ALIBI and LP-1ST are not implemented, CIFAR10's images are not in the data folder.",
    ),
)
