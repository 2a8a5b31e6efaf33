"""Lists in sentences stay short."""

from ostraka.common.console.texts import MOST_LISTED, listed


def test_so_many_things_are_named_and_the_rest_counted() -> None:
    things = [str(number) for number in range(MOST_LISTED + 1)]
    assert listed(things[:MOST_LISTED]) == ", ".join(things[:MOST_LISTED])
    assert listed(things) == ", ".join(things[:MOST_LISTED]) + " and 1 more"
