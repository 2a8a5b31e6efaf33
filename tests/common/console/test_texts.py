"""Lists in sentences stay short, and one thing is not told as several."""

from ostraka.common.console.texts import MAX_LISTED, count_text, list_words


def test_so_many_things_are_named_and_the_rest_counted() -> None:
    things = [str(number) for number in range(MAX_LISTED + 1)]
    assert list_words(things[:MAX_LISTED]) == ", ".join(things[:MAX_LISTED])
    assert list_words(things) == ", ".join(things[:MAX_LISTED]) + " and 1 more"


def test_one_thing_is_counted_in_the_singular() -> None:
    told = [(count_text(count, "record"), count_text(count, "query", "queries")) for count in (0, 1, 2)]
    assert told == [("0 records", "0 queries"), ("1 record", "1 query"), ("2 records", "2 queries")]
