"""Lists in sentences stay short."""

from ostraka.common.console.texts import MAX_LISTED, list_words


def test_so_many_things_are_named_and_the_rest_counted() -> None:
    things = [str(number) for number in range(MAX_LISTED + 1)]
    assert list_words(things[:MAX_LISTED]) == ", ".join(things[:MAX_LISTED])
    assert list_words(things) == ", ".join(things[:MAX_LISTED]) + " and 1 more"
