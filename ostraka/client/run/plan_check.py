"""Refuses a plan that no query of can be released, before anything is encoded, asked or trained for it."""

import math

from ostraka.common.console.texts import number_text
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.mechanism import Mechanism
from ostraka.common.plan.plan import Plan
from ostraka.common.planning.mechanism_words import mechanism_words
from ostraka.protos.ostraka.v1 import guardian_pb2

_SIGMAS, _INVERSE = ("sigma", "sigma1", "sigma2"), ("gamma", "epsilon")
"""Parameters that noise grows with, and those that it falls with."""
_MOST = 2.0**12
"""Times the noise that is looked up to."""
_PRECISION = 1.02


def check_affordable(plan: Plan, reply: guardian_pb2.PlanReply) -> None:
    """Raise `budget.too_small` where the guardian says that budgets pay for no query, with what would do.

    Nothing is checked where the guardian does not tell it: there a batch is refused, before anybody votes.
    """
    if not reply.HasField("fits") or reply.fits:
        return
    short = next(party for party in reply.parties if not party.fits)
    others = f"leave out {short.site} with --parties, or let it agree to a larger budget"
    if not short.rdp_left:
        raise _refused(f"Nothing is left of the budget of {short.site} (epsilon {_epsilon(short)})", others)
    what = "batch" if plan.mechanism.by_record else "query"
    problem = f"What is left of the budget of {short.site} (epsilon {_epsilon(short)}) pays for no {what}"
    enough = _noisier(plan, short)
    if enough is not None:
        others = f"ask with more noise, such as {' '.join(mechanism_words(enough)[2:])}, {others}"
    raise _refused(problem, others)


def _refused(problem: str, advice: str) -> OstrakaError:
    return OstrakaError(ErrorCode.BUDGET_TOO_SMALL, f"{problem}: {advice}.", fits="0")


def _epsilon(party: guardian_pb2.PartyCost) -> str:
    return number_text(party.budget_epsilon)


def _noisier(plan: Plan, party: guardian_pb2.PartyCost) -> Mechanism | None:
    """Return the mechanism with the least noise, to 2%, that what is left pays for; None: there is none."""
    low, high = 1.0, 2.0
    while not _pays(plan, _noise_times(plan.mechanism, high), party):
        if high >= _MOST:
            return None
        low, high = high, 2 * high
    while high > _PRECISION * low:
        middle = math.sqrt(low * high)
        if _pays(plan, _noise_times(plan.mechanism, middle), party):
            high = middle
        else:
            low = middle
    return _noise_times(plan.mechanism, high)


def _pays(plan: Plan, mechanism: Mechanism, party: guardian_pb2.PartyCost) -> bool:
    """Whether what is left of a party's budget pays for one answered query."""
    cost = mechanism.worst_case(party.order, party.sensitivity, classes=plan.classes)
    answers = mechanism.answers(plan.classes)
    return cost.batch + cost.check + min(answers * cost.answer, cost.most) <= party.rdp_left


def _noise_times(mechanism: Mechanism, factor: float) -> Mechanism:
    """Return the mechanism with so many times the noise, in numbers of three digits; nothing else changes."""
    fields = type(mechanism).model_fields
    times = dict.fromkeys(_SIGMAS, factor) | dict.fromkeys(_INVERSE, 1 / factor)
    changed: dict[str, object] = {
        name: _three_digits(getattr(mechanism, name), times[name]) for name in times if name in fields
    }
    check = mechanism.noisy_check
    if check is not None and "check" in fields:
        changed["check"] = check.model_copy(update={"sigma": _three_digits(check.sigma, factor)})
    return mechanism.model_copy(update=changed)


def _three_digits(value: float, factor: float) -> float:
    """Return the product, rounded to more noise: up where it grows, else down."""
    unit = 10.0 ** (math.floor(math.log10(value * factor)) - 2)
    rounded = (math.ceil if factor > 1 else math.floor)(value * factor / unit) * unit
    return float(f"{rounded:.3g}")
