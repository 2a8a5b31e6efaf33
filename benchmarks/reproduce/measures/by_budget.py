"""The numbers of Mühl and Boenisch 2022 for each configuration, and names of figures."""

from collections.abc import Iterator, Mapping

from benchmarks.personalized import paper
from benchmarks.personalized.configurations import Key
from benchmarks.reproduce.cell import Figure

VARIANTS = {"u": "upsampling", "v": "vanishing", "w": "weighting"}


def name_of(key: Key, what: str) -> str:
    """Return the name of a figure of a configuration."""
    variant, factor, ratio = key
    higher = f"log {2**factor}" if factor > 1 else "log 2"
    share = f" for {ratio}%" if ratio else ""
    return f"{VARIANTS.get(variant, variant)}, {higher}{share}: {what}"


def labels(dataset: str, *, baselines: bool) -> Iterator[tuple[Key, float]]:
    """Yield Tables 3 to 5: labels of each configuration."""
    yield ("minimum", 1, 0), paper.MINIMUM[dataset]
    for pair, counts in paper.VARIANTS[dataset].items():
        for variant in VARIANTS:
            yield (variant, *pair), getattr(counts, variant)
        if baselines:
            yield ("average", *pair), paper.AVERAGE[dataset][pair]
    if baselines:
        for factor, count in paper.MAXIMUM[dataset].items():
            yield ("maximum", factor, 0), count


def students(dataset: str) -> dict[Key, float]:
    """Return Tables 8 and 9: students of each configuration, in %."""
    found: dict[Key, float] = {("minimum", 1, 0): paper.MINIMUM_STUDENT[dataset]}
    found |= {("maximum", factor, 0): said for factor, said in paper.MAXIMUM_STUDENT[dataset].items()}
    return found | {
        (variant, *pair): said
        for pair, by_variant in paper.STUDENTS[dataset].items()
        for variant, said in by_variant._asdict().items()
    }


def student_figures(
    dataset: str, found: Mapping[Key, tuple[float, ...]], *, compared: bool
) -> tuple[Figure, ...]:
    """Return the figures of students of a dataset, from their measured accuracies, in %."""
    return tuple(
        Figure(name_of(key, "student, %"), found[key], said if compared else None, "higher", close=0.03)
        for key, said in students(dataset).items()
        if key in found
    )
