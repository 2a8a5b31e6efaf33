"""A mechanism whose noise and thresholds suit another number of votes."""

import math
from typing import Any

from ostraka.common.mechanism import AnyMechanism, DpTtac, Ttac, invalid_plan

_MULTIPLIED = frozenset({"sigma", "sigma1", "sigma2", "threshold"})
_DIVIDED = frozenset({"gamma"})


def scaled(mechanism: AnyMechanism, factor: float) -> AnyMechanism:
    """Return the mechanism with noise and thresholds `factor` times as large (003, Appendix B).

    What bounds one ballot (tau, tau1, max_positives) and what a student must believe stay as they are, and so
    does what counts records, or sums updates. Raises `plan.invalid` for a factor that is
    no number above 0.
    """
    if not 0 < factor < math.inf:
        raise invalid_plan(f"its noise cannot be scaled by {factor:g}; scale it by a number above 0")
    if mechanism.by_record or isinstance(mechanism, Ttac | DpTtac):
        return mechanism
    return type(mechanism).model_validate(_scaled(mechanism.model_dump(), factor))


def _scaled(parameters: dict[str, Any], factor: float) -> dict[str, Any]:
    """Return the parameters, and those of a check among them, scaled by their names."""
    changed = dict(parameters)
    for name, value in parameters.items():
        if name in _MULTIPLIED:
            changed[name] = value * factor
        elif name in _DIVIDED:
            changed[name] = value / factor
        elif isinstance(value, dict):
            changed[name] = _scaled(value, factor)
    return changed
