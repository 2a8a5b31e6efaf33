"""`ostraka query calibrate`."""

import math
from typing import Annotated

import typer

from ostraka.common.console.cli import write_json
from ostraka.common.console.screen import Screen
from ostraka.common.errors import ErrorCode, OstrakaError


def calibrate(
    epsilon: Annotated[
        float, typer.Option("--epsilon", help="Epsilon of one release of all clusters (label-DP).")
    ],
    delta: Annotated[float, typer.Option("--delta", help="Delta of the same release.")] = 1e-5,
    json: Annotated[str | None, typer.Option(help="File for the figures; - is stdout.")] = None,
) -> None:
    """Compute the noise that noise_cluster needs for (epsilon, delta)-label-DP."""
    from ostraka.client.students.label_dp.calibrate import noise_cluster_sigma
    from ostraka.common.privacy import ORDERS
    from ostraka.common.privacy import epsilon as converted
    from ostraka.common.privacy.inputs import InputError

    try:
        sigma = noise_cluster_sigma(epsilon, delta)
    except InputError as exc:
        raise OstrakaError(ErrorCode.CONFIG_INVALID, f"No noise gives this label-DP, {exc}.") from exc
    charged = converted([order / sigma**2 for order in ORDERS], ORDERS, delta)
    if json != "-":
        Screen(soft_wrap=True).print(
            f"A sigma of {math.ceil(1000 * sigma) / 1000} records makes one release of all clusters "
            f"({epsilon:g}, {delta:g})-label-DP; a ledger, which also adds up other releases, "
            f"charges epsilon {charged:.4g} for it."
        )
    write_json({"sigma": sigma, "epsilon": epsilon, "delta": delta, "charged_epsilon": charged}, json)
