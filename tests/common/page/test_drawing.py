"""The style that all plots share: text that stays text, and the same document whenever it is drawn."""

from matplotlib.figure import Figure

from ostraka.common.page.drawing import axes_of, draw, draw_groups, figure_of


def bar(name: str, value: float | None = 1.0) -> Figure:
    axes = axes_of(3, 2)
    draw_groups(axes, ["one"], [(name, "black", [value])], told=True)
    axes.legend()
    return figure_of(axes)


def test_names_stay_text_whatever_they_hold() -> None:
    document = draw(bar, "costs $10 to $20, \N{CJK UNIFIED IDEOGRAPH-6F22}")
    assert "costs $10 to $20, \N{CJK UNIFIED IDEOGRAPH-6F22}</text>" in document


def test_a_document_says_nothing_of_when_it_was_drawn() -> None:
    assert "dc:date" not in draw(bar, "a")


def test_what_there_is_none_of_has_no_bar_and_no_number() -> None:
    told = [[text.get_text() for text in bar("a", value).axes[0].texts] for value in (0.5, None)]
    assert told == [["0.50"], [""]]
