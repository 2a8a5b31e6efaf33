"""Lists in sentences stay short."""

from ostraka.common.listed import MOST, listed


def test_so_many_things_are_named_and_the_rest_counted() -> None:
    things = [str(number) for number in range(MOST + 1)]
    assert listed(things[:MOST]) == ", ".join(things[:MOST])
    assert listed(things) == ", ".join(things[:MOST]) + " and 1 more"
