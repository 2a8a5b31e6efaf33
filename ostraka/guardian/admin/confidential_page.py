"""The confidential report as one HTML page that runs no script and loads nothing."""

from collections.abc import Iterable, Sequence
from pathlib import Path

from ostraka.common.page import templates
from ostraka.guardian.admin.confidential import MARK, UnitReport
from ostraka.guardian.admin.times import minute

TEMPLATE = Path(__file__).with_name("confidential.html")


def render_confidential(federation: str, made_unix_ms: int, units: Sequence[UnitReport]) -> str:
    """Return the page, marked at its head and in its title; whatever comes from outside is escaped."""
    return templates.render(
        TEMPLATE,
        federation=federation,
        made=minute(made_unix_ms),
        mark=MARK,
        units=map(confidential_row, units),
    )


def confidential_row(unit: UnitReport) -> Iterable[str]:
    """Yield a unit's name, budget, delta, order, enforced, charges, spent at worst and on its votes."""
    yield f"{unit['party']}/{unit['group']} ({unit['notion']})"
    yield f"{unit['epsilon_budget']:g}"
    yield f"{unit['delta']:g}"
    yield f"{unit['order']:g}"
    yield unit["enforce"]
    yield f"{len(unit['history'])}"
    yield f"{unit['epsilon_worst_case']:.4f}"
    yield f"{unit['epsilon_data_dependent']:.4f}"
