"""Mühl and Boenisch 2022: four figures, ten tables."""

from functools import partial

from benchmarks.reproduce.cell import Cell, drawing, not_yet
from benchmarks.reproduce.measures import groups, histories, personalized

NAME = "Mühl and Boenisch 2022"
TITLE = "Personalized PATE"
FIGURES, TABLES = range(1, 5), range(1, 11)

_MNIST_VOTES = ("votes/mnist_250_teachers_counts.npy",)
_SKEWED = "Adult, 250 random forests and more with copies"
_ENSEMBLE = "Here each number is one ensemble with five voting processes, in the paper ten ensembles."
_PUBLISHED = "MNIST, the published votes of 250 teachers of Papernot et al. 2018"
_HISTORY = "Half of the records have the higher budget. Without upsampling, whose copies take more teachers."

CELLS = (
    drawing("muehl-2022-figure-1", "The three variants"),
    Cell(
        "muehl-2022-figure-2",
        "Costs of both groups along the first 2,000 labels, MNIST",
        "a picture; two lines for each variant, further apart the more budgets differ; vanishing is dearest",
        _PUBLISHED,
        partial(histories.histories, dataset="mnist"),
        ("mnist.npz", *_MNIST_VOTES),
        seconds=(1, 2),
        why=_HISTORY,
        page="personalized.md",
    ),
    Cell(
        "muehl-2022-figure-3",
        "Costs of both groups along the first 2,000 labels, Adult",
        "a picture; as Figure 2",
        "Adult, 250 random forests",
        partial(histories.histories, dataset="adult"),
        ("adult.npz",),
        seconds=(2, 38),
        why=_HISTORY,
        page="personalized.md",
    ),
    Cell(
        "muehl-2022-figure-4",
        "Costs of two groups of unlike sensitivity over 4,000 votings",
        "the ratio comes near to that of the sensitivities, by vanishing to its square root",
        _PUBLISHED,
        groups.cost_ratios,
        _MNIST_VOTES,
        seeds=5,
        seconds=(1, 4),
        why="Bounds by the votes grow faster than sensitivities where these are four times as large.",
        page="personalized.md",
    ),
    drawing("muehl-2022-table-1", "The network for MNIST"),
    Cell(
        "muehl-2022-table-2",
        "Parameters of Confident GNMax",
        "threshold, noise and number of teachers of both data sets",
        "settings of `benchmarks.personalized`",
        personalized.parameters,
        seconds=(1, 1),
    ),
    Cell(
        "muehl-2022-table-3",
        "Labels before a budget is exceeded, MNIST",
        "99 with log 2 for all, up to 1,041 by weighting",
        "MNIST, 250 networks and more with copies",
        partial(personalized.labels, dataset="mnist", baselines=False),
        ("mnist.npz", *_MNIST_VOTES),
        seconds=(4, 36000),
        why=_ENSEMBLE,
        page="personalized.md",
    ),
    Cell(
        "muehl-2022-table-4",
        "The same with baselines, MNIST",
        "as Table 3; one budget for all 99 to 1,540",
        "MNIST, 250 networks and more with copies",
        partial(personalized.labels, dataset="mnist", baselines=True),
        ("mnist.npz", *_MNIST_VOTES),
        seconds=(1, 10),
        why=_ENSEMBLE,
        page="personalized.md",
    ),
    Cell(
        "muehl-2022-table-4-published-votes",
        "The same without upsampling, by votes that were published: times the labels of one budget of log 2",
        "2.4 by weighting, 0.7 by vanishing where half have log 4; 1 is 99 labels",
        _PUBLISHED,
        personalized.labels_by_published_votes,
        ("mnist.npz", *_MNIST_VOTES),
        seconds=(3, 14),
        why="These teachers agree less than the paper's: fewer labels for log 2.",
        page="personalized.md",
    ),
    Cell(
        "muehl-2022-table-5",
        "The same with baselines, Adult",
        "88 with log 2 for all, up to 872 by weighting, 1,288 with log 16 for all",
        _SKEWED,
        partial(personalized.labels, dataset="adult", baselines=True),
        ("adult.npz",),
        seconds=(10, 3600),
        why=_ENSEMBLE,
        page="personalized.md",
    ),
    Cell(
        "muehl-2022-table-6",
        "Labels where some of the rarer class has the higher budget, Adult",
        "90 to 225 by upsampling, 106 to 524 with the mean budget for all",
        _SKEWED,
        partial(personalized.skewed, columns=("labels", "average")),
        ("adult.npz",),
        seconds=(1, 10),
        why=_ENSEMBLE,
        page="personalized.md",
    ),
    Cell(
        "muehl-2022-table-7",
        "Voting accuracy, precision and recall of teachers in these cells",
        "86.7 to 79.5%; recall 56 to 85%",
        _SKEWED,
        partial(personalized.skewed, columns=("accuracy", "precision", "recall")),
        ("adult.npz",),
        seconds=(1, 10),
        why=_ENSEMBLE,
        page="personalized.md",
    ),
    not_yet(
        "muehl-2022-table-8",
        "Students by personalisation, MNIST",
        "84.5 to 94.8%",
        "`benchmarks.personalized` trains students on Adult alone.",
    ),
    Cell(
        "muehl-2022-table-9",
        "Students by personalisation, Adult",
        "79.9 to 83.2%",
        _SKEWED,
        personalized.students,
        ("adult.npz",),
        seconds=(1, 10),
        why=_ENSEMBLE,
        page="personalized.md",
    ),
    Cell(
        "muehl-2022-table-10",
        "Students where some of the rarer class has the higher budget, Adult",
        "76.2 to 81.5% by upsampling, 80.3 to 82.9% with the mean budget for all",
        _SKEWED,
        partial(personalized.skewed, columns=("student", "average_student")),
        ("adult.npz",),
        seconds=(1, 10),
        why=_ENSEMBLE,
        page="personalized.md",
    ),
)
