"""Mechanisms that release sums of updates: teachers of all parties that learn together (004)."""

from typing import Annotated, ClassVar, Literal

from pydantic import Field, StringConstraints

from ostraka.common.mechanism.value import Parameters, Positive, Value

Count = Annotated[int, Field(gt=0, lt=2**32)]
UPDATE_UNITS = 2.0**8
"""How many units, of 2^16 steps each, one step of a parameter is in a sum of `Ttac`."""


class Recipe(Value):
    """How all teachers learn (004, Algorithm 1).

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


class Ttac(Parameters):
    """Release the sum of all teachers' updates, in `UPDATE_UNITS`, as it is: no formal guarantee (004)."""

    together: ClassVar[str] = "ttac"
    """What manifests say of teachers that learned by it."""

    kind: Literal["ttac"] = "ttac"
    recipe: Recipe

    @property
    def sigmas(self) -> tuple[float, ...]:
        """None: nothing is drawn."""
        return ()

    def width(self, classes: int) -> int:
        """Ring values of a round: one a parameter."""
        return self.recipe.parameters


class DpTtac(Parameters):
    """Release the sum of clipped updates with noise of `sigma` radii on each parameter (own derivation).

    Attributes:
        recipe: how all teachers learn.
        clip: "record": a round is one step of the average along the sum of all records' gradients at it,
            each clipped to `radius`; "party": what all teachers of a party learned is clipped to `radius`.
        radius: L2 norm that is clipped to, in parameters.
        sigma: noise, in radii.
    """

    together: ClassVar[str] = "dp-ttac"
    """What manifests say of teachers that learned by it."""

    kind: Literal["dp_ttac"] = "dp_ttac"
    recipe: Recipe
    clip: Literal["record", "party"] = "record"
    radius: Positive
    sigma: Positive

    @property
    def sigmas(self) -> tuple[float, ...]:
        """Standard deviation of the noise, in radii."""
        return (self.sigma,)

    def width(self, classes: int) -> int:
        """Ring values of a round: one a parameter."""
        return self.recipe.parameters
