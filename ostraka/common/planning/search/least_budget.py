"""A budget that gives a label which is accurate enough, where the one given gives none."""

from collections.abc import Sequence

from ostraka.common.console.texts import epsilon_text
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.planning.search.families import Family
from ostraka.common.planning.search.purse import Purse
from ostraka.common.planning.search.search import Outcome, Search

_MOST = 2**14
"""Times the budget that is looked up to."""
_PRECISION = 1.02


def no_label(search: Search, families: Sequence[Family], purse: Purse, advice: str) -> OstrakaError:
    """Return the error for a budget that gives no label, which says what would.

    Args:
        search: that found none.
        families: that were searched.
        purse: what may be spent.
        advice: what else to do, such as to raise an option.
    """
    least = f"labels that are right for {search.least_accuracy:.3g} of them"
    share = _least_share(search, families, purse)
    if share is None:
        accurate = max(_whole(search, families, purse, float(_MOST)), key=lambda one: one.accuracy)
        return OstrakaError(
            ErrorCode.BUDGET_TOO_SMALL,
            f"No budget gives {least}: with hardly any noise these teachers reach {accurate.accuracy:.3g}; "
            "lower --least-accuracy, or have better teachers.",
        )
    return OstrakaError(
        ErrorCode.BUDGET_TOO_SMALL,
        f"Epsilon {epsilon_text(purse.epsilon(1.0))} pays for no query with {least}, and "
        f"{epsilon_text(purse.epsilon(share))} does: {advice}.",
    )


def _least_share(search: Search, families: Sequence[Family], purse: Purse) -> float | None:
    """Return how many times the purse suffices without a check, to 2%; None: not even _MOST times."""

    def enough(share: float) -> bool:
        return any(search.good(one) for one in _whole(search, families, purse, share))

    low, high = 1.0, 2.0
    while not enough(high):
        if high >= _MOST:
            return None
        low, high = high, 2 * high
    while high > _PRECISION * low:
        middle = (low * high) ** 0.5
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def _whole(search: Search, families: Sequence[Family], purse: Purse, share: float) -> list[Outcome]:
    """Return the best outcome of each family without a check, which are searched quickly."""
    fewest = min(len(family.axes) for family in families)
    choices = purse.choices(share)
    return [search.best(family, choices)[1] for family in families if choices and len(family.axes) == fewest]
