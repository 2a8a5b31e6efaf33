"""What others give for the same task: accountants, samplers, DP-SGD; no paper."""

from benchmarks.reproduce.cell import Cell
from benchmarks.reproduce.measures import world_costs, world_noise, world_training

NAME = "Held against the world"
TITLE = "The other's number is measured in the same run, by the same command"

CELLS = (
    Cell(
        "world-worst-case",
        "What answers cost whatever the votes are, GNMax, sigma 40, delta 1e-5",
        "dp_accounting: Renyi divergences and privacy loss distributions (PLD)",
        "10 classes",
        world_costs.worst_case,
        seconds=(1, 1),
        why="A label costs less than its counts. Filters need Renyi divergences, which PLD undercuts.",
        page="accounting-argmax.md",
    ),
    Cell(
        "world-formulas",
        "Bounds by the votes beside loops over the published formulas",
        "Theorem 6 of Papernot et al. 2018, and every neighbour by numerical integration",
        "drawn histograms of 250 votes, 10 classes",
        world_costs.formulas,
        seconds=(1, 2),
        page="accounting.md",
    ),
    Cell(
        "world-noise",
        "Discrete noise: draws a second, and their law",
        "OpenDP's measurements; the law of Canonne, Kamath and Steinke 2020",
        "sigma 40, one core",
        world_noise.noise,
        seconds=(1, 2),
        why="The draws are OpenDP's.",
        page="mechanisms.md",
    ),
    Cell(
        "world-dp-sgd-noise",
        "Noise that DP-SGD needs for an epsilon",
        "Opacus: by Renyi divergences (RDP), and by its estimate of privacy loss (PRV)",
        "batches by Poisson sampling, delta 1e-5",
        world_training.training_noise,
        seconds=(1, 6),
        why="Here it is the least by PLD whose upper bound holds, to half a percent.",
        page="students.md",
    ),
    Cell(
        "world-dp-sgd",
        "Votes and DP-SGD at the same epsilon, all records in one place",
        "Opacus",
        "yeast, 14 labels, linear models",
        world_training.votes_and_dp_sgd,
        ("multilabel_yeast.npz",),
        seeds=3,
        seconds=(1, 3),
        why="Where all records may lie in one place, DP-SGD is the better choice for these features.",
        page="multi-site.md",
    ),
)
