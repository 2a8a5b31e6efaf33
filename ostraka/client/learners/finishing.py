"""From scores to a model: own records calibrate probabilities and give numbers intervals."""

import math
from dataclasses import dataclass, field

import numpy as np

from ostraka.client.learners.calibration import MIN_RECORDS, calibrate, plain_calibration
from ostraka.client.learners.fit import Model, make_model
from ostraka.client.learners.intervals import LEVEL, MIN_DISTANCES, conformal_half_width
from ostraka.client.learners.problem import OwnRecords, Problem, loss_target
from ostraka.common.estimators.sum_models import Scores
from ostraka.common.sums.feature_map import Floats
from ostraka.common.sums.questions import Target


@dataclass(frozen=True)
class Units:
    """Conversion of scores s: numbers are `scale` s + `shift`, and logits by default `slope` times that.

    Attributes:
        scale: of the scores.
        shift: (k,).
        slope: of logits.
    """

    scale: float
    shift: Floats = field(repr=False)
    slope: float = 1.0


def units_of(problem: Problem, target: Target) -> Units:
    """Return the units of scores that were fitted to a target: logits, or numbers divided by its scale."""
    return Units(target.scale, np.full(problem.scores, target.center))


@dataclass(frozen=True)
class Finished:
    """A model, and its calibration on own records.

    Attributes:
        calibrated_on: number of own records that calibrated the probabilities.
        half_width: of a number's interval; None if there is none.
        notes: what users must know about probabilities or intervals, as sentences.
    """

    model: Model = field(repr=False)
    calibrated_on: int
    half_width: float | None
    notes: tuple[str, ...]


def finish_model(problem: Problem, scores: Scores, units: Units, held_out: Floats | None) -> Finished:
    """Return the model with these scores.

    `held_out` are scores (n, k) of own labelled records, each by a model that did not use it; None if there
    are none.
    """
    own = problem.labelled
    if problem.kind == "number":
        return _finish_number(problem, scores, units, own, held_out)
    notes = tell_uncalibrated(own)
    calibration = plain_calibration(problem.scores, units.slope)
    if own is not None and held_out is not None and not notes:
        logits = units.scale * held_out + units.shift
        calibration = calibrate(logits, own.y, loss_target(problem), units.slope)
    intercepts = calibration.slope * units.shift + calibration.intercepts
    model = make_model(problem, scores, calibration.slope * units.scale, intercepts)
    return Finished(model, calibration.records, None, notes)


UNCALIBRATED = "probabilities are not calibrated; only their order is meaningful."


def tell_uncalibrated(own: OwnRecords | None) -> tuple[str, ...]:
    """Return why own records cannot calibrate probabilities; empty if they can."""
    if own is None:
        return (f"There are no labelled records of your own: {UNCALIBRATED}",)
    if len(own) < MIN_RECORDS:
        return (f"You have only {len(own)} labelled records of your own: {UNCALIBRATED}",)
    if own.y.ndim == 1 and len(np.unique(own.y)) == 1:
        return (f"All labelled records of your own are of one class: {UNCALIBRATED}",)
    return ()


def _finish_number(
    problem: Problem, scores: Scores, units: Units, own: OwnRecords | None, held_out: Floats | None
) -> Finished:
    half_width = math.inf
    if own is not None and held_out is not None:
        said = np.clip(units.scale * held_out[:, 0] + units.shift[0], problem.low, problem.high)
        half_width = conformal_half_width(np.asarray(own.y, np.float64) - said)
    model = make_model(problem, scores, units.scale, units.shift, half_width)
    if math.isinf(half_width):
        there = 0 if own is None else len(own)
        note = (
            "Intervals of predicted numbers are the target's whole range: narrower "
            f"intervals need {MIN_DISTANCES} labelled records of your own, and there are "
            f"{there}."
        )
        return Finished(model, 0, None, (note,))
    note = (
        f"Of records like your own labelled records, {LEVEL:.0%} lie within "
        f"{half_width:.3g} of the prediction, estimated on {len(own or ())} records that "
        "the model did not use."
    )
    return Finished(model, 0, half_width, (note,))
