"""Base of mechanisms that release sums of updates in a joint training (Dodwadmath and Stich 2022)."""

from abc import abstractmethod
from typing import Annotated, ClassVar

from pydantic import Field, StringConstraints

from ostraka.common.mechanism.mechanism import Mechanism, Positive, Value
from ostraka.common.sharing.ballots import Updates

Count = Annotated[int, Field(gt=0, lt=2**32)]


class Recipe(Value):
    """How all teachers learn (Dodwadmath and Stich 2022, Algorithm 1).

    Attributes:
        model: the network's name, as in `ostraka party train --model`.
        parameters: its number of parameters.
        steps: number of local steps of a teacher in a round, T.
        batch_size: number of records in a step.
        learning_rate: step size of a teacher, eta_f, in the first round.
        decay: factor on the step size from round to round, gamma.
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
    """What manifests say of teachers trained with it."""

    recipe: Recipe

    @property
    def ballot(self) -> Updates:
        """One value for each parameter."""
        return Updates(self.recipe.parameters)

    @property
    @abstractmethod
    def unit(self) -> float:
        """The value of 1 in a sum, in parameters."""

    @property
    @abstractmethod
    def update_radius(self) -> float | None:
        """The L2 norm to which a party's joint update is clipped; None if it is not clipped."""

    @property
    @abstractmethod
    def gradient_radius(self) -> float | None:
        """The L2 norm to which each record's gradient is clipped; None if it is not clipped."""
