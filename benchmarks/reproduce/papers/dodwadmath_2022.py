"""Dodwadmath and Stich 2022: three figures, one table."""

from benchmarks.reproduce.cell import Cell, drawing
from benchmarks.reproduce.measures import heterogeneity

NAME = "Dodwadmath and Stich 2022"
TITLE = "Preserving privacy with PATE for heterogeneous data"
FIGURES = range(1, 4)
TABLES = range(1, 2)

CELLS = (
    drawing("dodwadmath-2022-figure-1", "Why teachers of unlike records drift apart"),
    Cell(
        "dodwadmath-2022-figure-2",
        "Accuracy of noisy votes by similarity of records, trained apart or together",
        "a picture; together they are right far more often at S=0",
        "MNIST, ten teachers",
        heterogeneity.accuracy_of_labels,
        ("mnist.npz",),
        seconds=(6, 220),
        page="heterogeneity.md",
    ),
    Cell(
        "dodwadmath-2022-table-1",
        "Students by similarity, number of queries and noise",
        "S=0, 1,000 queries, gamma 0.5: 10.5% apart, 71.0% together",
        "MNIST, ten teachers, ten runs of each number",
        heterogeneity.students,
        ("mnist.npz",),
        seconds=(3, 900),
        page="heterogeneity.md",
    ),
    drawing("dodwadmath-2022-figure-3", "Overview of the approach"),
)
