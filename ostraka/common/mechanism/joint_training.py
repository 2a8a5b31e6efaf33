"""Base of mechanisms that release sums of updates in a joint training.

Dodwadmath and Stich 2022.
"""

from abc import abstractmethod
from typing import Annotated, ClassVar

from pydantic import Field, StringConstraints

from ostraka.common.mechanism.mechanism import Mechanism, Positive, Value
from ostraka.common.sharing.ballots import Updates

Count = Annotated[int, Field(gt=0, lt=2**32)]


class Recipe(Value):
    """How all teachers learn (Dodwadmath and Stich 2022, Algorithm 1).

    Attributes:
        model: the network, by the name that `ostraka party train --model` takes.
        parameters: how many it has.
        steps: local steps of a teacher in a round, T.
        batch_size: records of a step.
        learning_rate: step size of a teacher, eta_f, in the first round.
        decay: what it is multiplied by from round to round, gamma.
        average_rate: step size of the average, eta_theta.
    """

    model: Annotated[str, StringConstraints(pattern=r"^[\w.:-]+$", max_length=256)]
    parameters: Count
    steps: Count
    batch_size: Count
    learning_rate: Positive
    decay: Annotated[float, Field(gt=0, le=1)] = 1.0
    average_rate: Positive = 1.0


class JointTraining(Mechanism):
    """A mechanism that releases the sum of all teachers' updates after a round."""

    labels_queries: ClassVar[bool] = False
    adjacencies = ("record",)

    together: ClassVar[str]
    """What manifests say of teachers that learned by it."""

    recipe: Recipe

    @property
    def ballot(self) -> Updates:
        """One value for each parameter."""
        return Updates(self.recipe.parameters)

    @property
    @abstractmethod
    def unit(self) -> float:
        """What 1 in a sum stands for, in parameters."""

    @property
    @abstractmethod
    def update_radius(self) -> float | None:
        """The L2 norm that what all teachers of a party learned is clipped to; None where it is not."""

    @property
    @abstractmethod
    def gradient_radius(self) -> float | None:
        """The L2 norm that each record's gradient is clipped to; None where it is not."""
