"""Papernot, Song, Mironov, Raghunathan, Talwar and Erlingsson 2018: seven figures, no numbered table."""

from benchmarks.reproduce.cell import Cell, drawing, not_possible
from benchmarks.reproduce.measures import published_votes as votes
from benchmarks.reproduce.measures import students

NAME = "Papernot et al. 2018"
TITLE = "Scalable private learning with PATE"
FIGURES = range(1, 8)
TABLES = range(0)

_VOTES = ("votes/svhn_250_teachers_counts.npy", "votes/svhn_test_labels.npy")
_ON = "SVHN, the published votes of 250 teachers"
_GLYPH = "Glyph is not public, nor its teachers' votes; SVHN's 250 teachers stand in for its 5,000."

CELLS = (
    drawing("papernot-2018-figure-1", "Inputs of Glyph"),
    Cell(
        "papernot-2018-figure-2",
        "Laplace against Gaussian noise: accuracy of labels over what 4,000 queries cost",
        "a picture; at the same accuracy GNMax costs less",
        _ON,
        votes.laplace_and_gauss,
        _VOTES,
        seeds=3,
        seconds=(1, 3),
        other=_GLYPH,
        why="Costs are those of the most noise that takes a point of accuracy from the plurality.",
        page="mechanisms.md",
    ),
    Cell(
        "papernot-2018-figure-3",
        "Bounds by the votes and whatever they are, while noise grows",
        "a picture of three regimes: the bound by the votes falls, rises, is overtaken",
        _ON,
        votes.regimes,
        _VOTES,
        seconds=(1, 1),
        other=_GLYPH,
        page="accounting.md",
    ),
    Cell(
        "papernot-2018-figure-4",
        "Cost of as many labels, all queries answered or only cheap ones",
        "a picture; as many labels cost less with a check",
        _ON,
        votes.all_or_confident,
        _VOTES,
        seeds=3,
        seconds=(1, 1),
        other=_GLYPH,
        why="The check is that of SVHN's row of Figure 5; with 250 teachers it costs much of what it saves.",
    ),
    Cell(
        "papernot-2018-figure-5-svhn-cost",
        "SVHN's row: what 3,464 labels cost by Confident (300, 200, 40), delta 1e-6",
        "epsilon 5.34",
        _ON,
        votes.svhn_row,
        _VOTES,
        seeds=3,
        seconds=(3, 68),
        why="Which queries were asked was not published: here a random order until as many labels are there.",
        page="accounting.md",
    ),
    Cell(
        "papernot-2018-figure-5-svhn-student",
        "A student, and what privacy takes from it",
        "SVHN: 91.7% by a GAN, epsilon 5.34; 92.8% without privacy",
        "MNIST, 250 networks; epsilon 1.97, delta 1e-5",
        students.papernot,
        ("mnist.npz",),
        seeds=3,
        seconds=(2, 900),
        other="SVHN's images are public but not in the data folder, where votes and labels alone are.",
        why="Charged whatever the votes, GNMax with sigma 60 answers: a check costs too much.",
        page="students.md",
    ),
    not_possible(
        "papernot-2018-figure-5-glyph",
        "Glyph's four rows: Confident and Interactive, costs and students",
        "epsilon 0.93 to 2.03, students 72.7 to 75.5%",
        "Glyph is not public, nor its teachers' votes. Rounds on digits: [students](students.md).",
    ),
    Cell(
        "papernot-2018-figure-6",
        "Which queries pass a check, by how many teachers agree",
        "a picture; moderate keeps most of strong consensus, aggressive culls all of poor consensus",
        _ON,
        votes.checks,
        _VOTES,
        seeds=3,
        seconds=(1, 1),
        other=_GLYPH,
        why="Threshold and noise in proportion to the number of teachers.",
    ),
    drawing("papernot-2018-figure-7", "Overview of PATE"),
)
