"""Table 4 and Figure 17 of Dziedzic et al. 2023, by `benchmarks.dependencies`: yeast in place of X-rays."""

from benchmarks.dependencies.cells import QUICK, SETTINGS, Cell, cell
from benchmarks.dependencies.domains import domains
from benchmarks.reproduce.cell import Claim, Figure, Job, Outcome

YEAST = SETTINGS[0]
ALL = "all labels"
NOISE = "more noise"
DEPENDENCIES = "dependencies"


def fewer_questions(job: Job) -> Outcome:
    """Table 4: queries that epsilon 8 pays for, and their accuracy, in three ways."""
    setting = QUICK if job.quick else YEAST
    found = [cell(setting, seed, job.folder / "dependencies") for seed in job.seeds]
    figures = []
    for way in (ALL, NOISE, DEPENDENCIES):
        rows = [row for one in found for row in one.rows if row.way == way]
        figures += [
            Figure(f"{way}: queries", tuple(float(row.answered) for row in rows)),
            Figure(f"{way}: ACC, %", tuple(100 * row.found.acc for row in rows)),
            Figure(f"{way}: BAC, %", tuple(100 * row.found.bac for row in rows)),
            Figure(f"{way}: mAP, %", tuple(100 * row.found.map for row in rows)),
        ]
    gain = [_count_answered(one, DEPENDENCIES) / _count_answered(one, ALL) for one in found]
    return Outcome(
        (Figure("times as many queries by dependencies", tuple(gain), 127 / 35, "higher"), *figures),
        (
            Claim("dependencies let a budget pay for more queries", min(gain) > 1),
            Claim(
                "their labels are less right than all labels", _acc(found, DEPENDENCIES) < _acc(found, ALL)
            ),
            Claim("and more right than with more noise", _acc(found, DEPENDENCIES) > _acc(found, NOISE)),
        ),
    )


def cross_domain(job: Job) -> Outcome:
    """Figure 17: parties that know different labels help each other."""
    found = domains(QUICK if job.quick else YEAST, job.seeds, job.folder / "dependencies")
    figures = [
        Figure(f"{one.way}: {name}, %", (100 * value,))
        for one in found
        for name, value in (("ACC", one.found.acc), ("BAC", one.found.bac), ("mAP", one.found.map))
    ]
    _, together, _, alone = found
    return Outcome(
        tuple(figures),
        (
            Claim(
                "labels by both kinds of parties are right more often than by one",
                together.found.bac > alone.found.bac,
            ),
        ),
    )


def _count_answered(one: Cell, way: str) -> float:
    return float(next(row.answered for row in one.rows if row.way == way))


def _acc(found: list[Cell], way: str) -> float:
    values = [row.found.acc for one in found for row in one.rows if row.way == way]
    return sum(values) / len(values)
