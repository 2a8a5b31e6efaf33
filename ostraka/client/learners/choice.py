"""Choice of the learner for a problem and a budget, from public facts and the querying party's own
records."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

from ostraka.client.learners.bins import BinsLearner
from ostraka.client.learners.boost import EPOCHS, BoostLearner, empty_terms
from ostraka.client.learners.coding import RARE
from ostraka.client.learners.fit import Learner, LearnerName
from ostraka.client.learners.gradients import LITTLE_MU, GradientsLearner
from ostraka.client.learners.moments import MomentsLearner
from ostraka.client.learners.problem import Problem, share_of_ones

LEARNERS: Mapping[LearnerName, Learner] = {
    "moments": MomentsLearner(),
    "bins": BinsLearner(),
    "boost": BoostLearner(),
    "gradients": GradientsLearner(),
}
"""Learners of linear and additive models; a network is used only on request."""
BOOSTED_RECORDS = 10_000
"""Records of a table from which bins are better than lines."""
BOOSTED_SIGNAL = 500
"""Minimum of records times mu over the root of the rounds: below it, noise hides the advantage of bins."""
LITTLE_SIGNAL = 3_000
"""Records times mu below which gradients beat least squares, whose sums have more noise."""
RARE_LABELS = 0.05
"""Mean share of own records per label below which a logistic loss ranks them better than least squares."""
FEW_POSITIVES = 1_000
"""Number of records below which a rare class has few."""


@dataclass(frozen=True)
class Choice:
    """A learner by name, and the reason for the choice, as a sentence."""

    name: LearnerName
    reason: str

    @property
    def learner(self) -> Learner:
        """The chosen learner."""
        if self.name == "network":
            # Imported here, because the other learners need no torch.
            from ostraka.client.learners.networks import NetworkLearner

            return NetworkLearner()
        return LEARNERS[self.name]


def choose(problem: Problem, mu: float) -> Choice:
    """Return the learner that suits a problem and a budget of mu."""
    if problem.kind == "labels":
        return _choose_for_labels(problem)
    if _suits_boost(problem, mu):
        return Choice(
            "boost",
            f"The table has {problem.records} records, enough at this budget for non-linear effects of "
            "columns.",
        )
    if problem.labelled is not None and problem.kind == "number":
        return Choice(
            "gradients",
            "Your own labelled records reduce the noise of gradients, which have the least noise for a "
            "numeric target.",
        )
    if _is_rare(problem):
        return _choose_for_rare(mu)
    softmax = problem.kind == "classes" and not problem.binary
    if problem.records * mu < LITTLE_SIGNAL and (softmax or problem.labelled is not None):
        return Choice(
            "gradients",
            "There are few records for this budget, and gradients have less noise than sums of squares.",
        )
    return Choice("moments", "One sum is enough at this budget: more rounds would add noise and little else.")


def _choose_for_labels(problem: Problem) -> Choice:
    own = problem.labelled
    if own is not None and float(share_of_ones(own).mean()) < RARE_LABELS:
        return Choice("gradients", "Most labels are rare, and a logistic loss separates rare labels best.")
    return Choice(
        "moments",
        "One sum serves all labels, while every round of another learner is charged for all labels.",
    )


def _choose_for_rare(mu: float) -> Choice:
    if mu > LITTLE_MU:
        return Choice(
            "gradients",
            "One class is rare and has few records, and a logistic loss separates it best.",
        )
    return Choice("moments", "One class is rare, and at this budget one sum has less noise than many rounds.")


def _suits_boost(problem: Problem, mu: float) -> bool:
    """Whether a table with one score per record has enough records; bins are counted on the asker's own."""
    if problem.image or problem.scores > 1 or problem.records < BOOSTED_RECORDS:
        return False
    if problem.told_features is None:
        return False
    rounds = EPOCHS * len(empty_terms(problem))
    return rounds > 0 and problem.records * mu / math.sqrt(rounds) >= BOOSTED_SIGNAL


def _is_rare(problem: Problem) -> bool:
    own = problem.labelled
    if not problem.binary or own is None:
        return False
    share = float(share_of_ones(own)[0])
    rarer = min(share, 1 - share)
    return rarer < RARE and rarer * problem.records < FEW_POSITIVES
