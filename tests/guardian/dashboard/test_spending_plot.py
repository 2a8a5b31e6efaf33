"""The plot of what a unit spent."""

from ostraka.guardian.dashboard.overview_views import draw, with_charges
from ostraka.protos.ostraka.v1 import admin_pb2

HOUR_MS = 3_600_000


def event(hours: float, epsilon: float, spent: float) -> admin_pb2.BudgetEvent:
    return admin_pb2.BudgetEvent(
        time_unix_ms=int(hours * HOUR_MS), kind="charged", epsilon=epsilon, epsilon_worst_case=spent
    )


def test_spending_rises_in_steps_below_the_budget() -> None:
    plot = draw([event(0, 12, 0), event(12, 12, 3), event(18, 6, 6)], 24 * HOUR_MS)
    assert [tick.text for tick in plot.amounts] == ["0", "2.5", "5", "7.5", "10", "12.5"]
    assert [tick.text for tick in plot.times] == ["00:00:00", "06:00:00", "12:00:00", "18:00:00", "00:00:00"]
    assert plot.spent == "M56.0 208.0H500.0V161.9H722.0V115.8H944.0"
    assert plot.budget == "M56.0 23.7H500.0V23.7H722.0V115.8H944.0"
    assert plot.area == f"{plot.spent}V208.0H56.0Z"


def test_a_single_event_is_a_line_of_a_minute_at_least() -> None:
    plot = draw([event(0, 1, 0)], 0)
    assert plot.spent == "M56.0 208.0H944.0"
    assert [tick.text for tick in plot.amounts] == ["0", "0.2", "0.4", "0.6", "0.8", "1"]


def test_what_was_spent_beyond_a_lowered_budget_is_on_the_plot() -> None:
    plot = draw([event(0, 10, 0), event(1, 10, 9), event(2, 1, 9)], 3 * HOUR_MS)
    heights = [tick.at for tick in plot.amounts]
    assert min(heights) == plot.top
    assert float(plot.spent.split("V")[1].split("H")[0]) > plot.top


def test_long_histories_are_marked_by_days() -> None:
    plot = draw([event(0, 1, 0), event(240, 1, 0.5)], 240 * HOUR_MS)
    assert plot.times[-1].text == "1970-01-11"
    assert draw([event(0, 1, 0)], 48 * HOUR_MS).times[-1].text == "03 Jan 00:00"


def test_a_charge_is_what_it_added_to_what_was_spent() -> None:
    events = [event(0, 10, 0), event(1, 10, 2.5), event(2, 8, 2.5), event(3, 8, 4.0)]
    assert [charge for _, charge in with_charges(events)] == [0.0, 2.5, 0.0, 1.5]
