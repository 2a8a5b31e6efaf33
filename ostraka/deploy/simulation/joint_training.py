"""Joint training of all parties' teachers in a simulation's report."""

from typing import Literal

from ostraka.common.validation import FrozenModel


class TrainingCost(FrozenModel):
    """What training together cost one party's records at worst; it is part of what its unit was charged.

    ``share`` is what part of the whole budget that is.
    """

    site: str
    group: str
    teachers: int
    epsilon: float
    delta: float
    budget_epsilon: float
    share: float


class TrainingSummary(FrozenModel):
    """How teachers learned together.

    ``guarantee`` is "none" for ttac, else whose records are protected: a "record" or all of a "party";
    ``notion`` is the same in the words that stand beside epsilons, None for ttac.
    ``taking_part`` is the number of parties in the sum of each released round.
    """

    kind: Literal["ttac", "dp_ttac"]
    guarantee: Literal["none", "record", "party"]
    notion: str | None
    rounds: int
    taking_part: tuple[int, ...]
    costs: tuple[TrainingCost, ...]
    left_out: dict[str, str]
    stopped: str | None


def training_words(training: TrainingSummary) -> str:
    """How teachers learned together, and what that promises."""
    if training.guarantee == "none":
        return (
            f"No formal guarantee: teachers of all parties learned together by ttac in {training.rounds} "
            "rounds, and one record can change every vote. Every epsilon counts labels as if it changed one, "
            "and protects no record."
        )
    most = max(training.costs, key=lambda cost: cost.share)
    return (
        f"Teachers of all parties learned together by dp-ttac in {training.rounds} rounds, which by "
        f"themselves cost epsilon {most.epsilon:.2f} at most, {most.share:.0%} of a budget."
    )
