"""A learner, its plan for the given records, and the mechanism that releases the plan's sums."""

from dataclasses import dataclass

from ostraka.client.fitting.fit_options import LEARNERS
from ostraka.client.learners.choice import Choice, choose
from ostraka.client.learners.fit import LearnerName, SumPlan
from ostraka.client.learners.problem import Problem
from ostraka.common.mechanism import Bins, Boost, Gradients, Mechanism, Moments

ASKED_FOR = "It was asked for."


@dataclass(frozen=True)
class ChosenPlan:
    """A learner, why it was chosen, and its plan."""

    choice: Choice
    plan: SumPlan

    @classmethod
    def make(cls, learner: LEARNERS | LearnerName, problem: Problem, mu: float) -> "ChosenPlan":
        """Return the plan of a learner, or of the one that suits; raise as `Learner.plan`."""
        choice = choose(problem, mu) if learner == "auto" else Choice(learner, ASKED_FOR)
        return cls(choice, choice.learner.plan(problem, mu))

    @property
    def mechanism(self) -> Mechanism:
        """The mechanism that releases the sums."""
        plan = self.plan
        match plan.learner:
            case "moments":
                return Moments(
                    columns=plan.columns, codes=plan.outputs, sigma=plan.sigma, gram_sigma=plan.gram_sigma
                )
            case "bins":
                return Bins(
                    columns=plan.columns, codes=plan.outputs, sigma=plan.sigma, gram_sigma=plan.gram_sigma
                )
            case "boost":
                return Boost(bins=plan.columns, outputs=plan.outputs, sigma=plan.sigma)
            case "gradients" | "network":
                return Gradients(parameters=plan.columns * plan.outputs, sigma=plan.sigma)
