"""Mechanisms: how a histogram becomes an answer, with parameters in votes, and bounds on what that costs.

Two release what teachers of all parties learned together instead, with parameters in radii.
"""

from typing import Annotated, Literal

from pydantic import Field

from ostraka.common.mechanism.clusters import NoiseCluster
from ostraka.common.mechanism.joint_training import DpTtac, Recipe, Ttac
from ostraka.common.mechanism.multi_label import L1, Binary, Check, Powerset, Tau
from ostraka.common.mechanism.randomized_response import RandRes
from ostraka.common.mechanism.single_label import Confident, GnMax, Interactive, LnMax
from ostraka.common.mechanism.value import Parameters, Value, invalid_plan

__all__ = [
    "BOUND",
    "L1",
    "LABELLING",
    "MECHANISMS",
    "Binary",
    "Check",
    "Confident",
    "DpTtac",
    "GnMax",
    "Interactive",
    "LnMax",
    "Mechanism",
    "NoiseCluster",
    "Parameters",
    "Powerset",
    "RandRes",
    "Recipe",
    "Tau",
    "Ttac",
    "Value",
    "invalid_plan",
]

BOUND = Literal["worst_case", "theorem6", "exact"]

AnyMechanism = (
    GnMax
    | Confident
    | Interactive
    | LnMax
    | Binary
    | Tau
    | L1
    | Powerset
    | NoiseCluster
    | RandRes
    | Ttac
    | DpTtac
)
Mechanism = Annotated[AnyMechanism, Field(discriminator="kind")]

MECHANISMS: dict[str, type[AnyMechanism]] = {
    "gnmax": GnMax,
    "confident": Confident,
    "interactive": Interactive,
    "lnmax": LnMax,
    "binary": Binary,
    "tau": Tau,
    "l1": L1,
    "powerset": Powerset,
    "noise_cluster": NoiseCluster,
    "rand_res": RandRes,
    "ttac": Ttac,
    "dp_ttac": DpTtac,
}
"""Every mechanism by the name that plans give it."""

LABELLING = {kind: known for kind, known in MECHANISMS.items() if not issubclass(known, Ttac | DpTtac)}
"""Those that answer queries with labels, from votes; the others release sums of what teachers learned."""
