"""Weights that grow while a network learns."""

from ostraka.common.learning.objective import TrainingStep


def ramp(step: TrainingStep, part: float) -> float:
    """Grows from 0 to 1 over the first `part` of all steps; guesses of the first steps are worth little."""
    return min(1.0, (step.number + 1) / max(1.0, part * step.total))
