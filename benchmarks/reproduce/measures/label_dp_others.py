"""Tables 6 and 9 of Tang et al. 2022: the best of its methods, ALIBI and LP-1ST, on available data."""

from collections.abc import Iterator, Sequence

from benchmarks.label_dp.data import CLASSES
from benchmarks.label_dp.paper import OURS
from benchmarks.label_dp.settings import (
    ALIBI,
    BASELINES,
    FRAMEWORK,
    LP_1ST,
    NON_PRIVATE,
    PATE_FM_LEARNERS,
)
from benchmarks.label_dp.tables import NAMES
from benchmarks.reproduce.cell import Claim, Figure, Job, Outcome
from benchmarks.reproduce.measures.label_dp_cells import STAND_INS, Column, StandIn, accuracies, mean

OTHER_NETWORKS_AT = (2.0, 3.0, 4.0)
MANY_CLASSES = 100  # from which the paper's order of ALIBI and LP-1ST differs


def against(job: Job, on: str) -> Outcome:
    """Table 6, plus LP-2ST, which it does not have."""
    chosen = STAND_INS[on].of(job)
    return _compare(job, chosen, (*FRAMEWORK, *PATE_FM_LEARNERS), BASELINES, chosen.paper.compared_at)


def network(job: Job, kind: str) -> Outcome:
    """Table 9: another network for every student; without the learners that doubt PATE-FM's labels."""
    chosen = STAND_INS["digits"].of(job, kind)
    return _compare(job, chosen, FRAMEWORK, (ALIBI, LP_1ST), OTHER_NETWORKS_AT, published=False)


def _compare(
    job: Job,
    chosen: StandIn,
    framework: Sequence[str],
    others: Sequence[str],
    epsilons: Sequence[float],
    *,
    published: bool = True,
) -> Outcome:
    found = accuracies(job, chosen, (*framework, *others, NON_PRIVATE), epsilons)

    def figure(name: str, row: str, method: str, epsilon: float | None) -> Figure:
        said = chosen.paper.beside(row, epsilon) if published else None
        return Figure(f"{name}: right, %", tuple(found[method, epsilon]), said, "higher")

    figures = []
    for epsilon in epsilons:
        at = f"epsilon {epsilon:g}"
        best = _best(found, framework, epsilon)
        figures.append(figure(f"{at}, best of the paper, {NAMES[best]}", OURS, best, epsilon))
        figures += [figure(f"{at}, {NAMES[other]}", other, other, epsilon) for other in others]
    figures.append(figure(NAMES[NON_PRIVATE], NON_PRIVATE, NON_PRIVATE, None))
    return Outcome(tuple(figures), tuple(_claims(found, framework, epsilons, chosen)))


def _best(found: Column, methods: Sequence[str], epsilon: float) -> str:
    """Return the method with the highest mean on test records, as the paper chooses it."""
    return max(methods, key=lambda method: mean(found, method, epsilon) or 0.0)


def _highest(found: Column, methods: Sequence[str], epsilon: float) -> float:
    return mean(found, _best(found, methods, epsilon), epsilon) or 0.0


def _claims(
    found: Column, framework: Sequence[str], epsilons: Sequence[float], chosen: StandIn
) -> Iterator[Claim]:
    beaten = all(
        _highest(found, framework, epsilon) > _highest(found, (ALIBI, LP_1ST), epsilon)
        for epsilon in epsilons
    )
    yield Claim("the best of the paper beats ALIBI and LP-1ST at every epsilon", beaten)
    if CLASSES[chosen.dataset] >= MANY_CLASSES:
        more = all(
            _highest(found, (ALIBI,), epsilon) > _highest(found, (LP_1ST,), epsilon) for epsilon in epsilons
        )
        yield Claim("of 100 classes ALIBI learns more than LP-1ST", more)
