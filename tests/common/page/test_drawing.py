"""The style that all plots share: text that stays text, and the same document whenever it is drawn."""

from ostraka.common.page.drawing import plot, svg


def draw(name: str) -> str:
    with plot(3, 2) as (figure, axes):
        axes.bar([0], [1], label=name)
        axes.legend()
        return svg(figure)


def test_names_stay_text_whatever_they_hold() -> None:
    document = draw("costs $10 to $20, \N{CJK UNIFIED IDEOGRAPH-6F22}")
    assert "costs $10 to $20, \N{CJK UNIFIED IDEOGRAPH-6F22}</text>" in document


def test_a_document_says_nothing_of_when_it_was_drawn() -> None:
    assert "dc:date" not in draw("a")
