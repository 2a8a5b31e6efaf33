"""Interactive GNMax (Papernot et al. 2018, Algorithm 2)."""

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from ostraka.common.mechanism.confident import CheckedArgmax


class Interactive(CheckedArgmax):
    """Release GNMax with `sigma2` where the votes contradict a student's prediction.

    The check is on max_j (n_j - n p_j) with noise of `sigma1`, where p are the student's probabilities. If it
    fails, the querying party uses its student's own label, provided that its largest p exceeds `confidence`.
    """

    takes_scores: ClassVar[bool] = True
    gaussian: ClassVar[bool] = True

    kind: Literal["interactive"] = "interactive"
    confidence: Annotated[float, Field(ge=0, le=1)] = Field(
        description="Probability above which the student's own label is taken."
    )
