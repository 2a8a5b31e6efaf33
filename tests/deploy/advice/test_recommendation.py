"""What is recommended, by figures that are made up."""

from dataclasses import replace
from typing import Any

from ostraka.common.learning.gain import Interval
from ostraka.deploy.advice.attempts import WayName
from ostraka.deploy.advice.comparison import WayFigures
from ostraka.deploy.advice.recommendation import Recommendation, recommend
from ostraka.deploy.advice.splits import Amounts

AMOUNTS = Amounts(own=40, pool=100, test=200, private=1000, shown=1000)


def way(name: WayName, accuracy: float, variant: str = "", error: float = 0.002, **more: Any) -> WayFigures:
    interval = Interval(accuracy, accuracy - 0.05, accuracy + 0.05)
    return WayFigures(
        name,
        variant,
        2.0,
        interval,
        interval,
        None,
        gain=accuracy - 0.8,
        gain_error=error,
        behind=0.0,
        behind_error=error,
        labels=more.pop("labels", 0),
        seconds=0.1,
        settings=more.pop("settings", {}),
    )


def advice(*ways: WayFigures, trivial: float = 0.6, pooled: float = 0.9) -> Recommendation:
    best = max(one.gain for one in ways)
    held = (replace(one, behind=best - one.gain) for one in ways)
    every = (way("nothing", trivial), way("own", 0.8, "linear"), way("pooled", pooled), *held)
    return recommend(every, "accuracy", AMOUNTS, 2.0)


def test_the_way_that_gains_most_is_recommended() -> None:
    found = advice(way("sums", 0.83, "gradients"), way("sums", 0.86, "moments"))
    assert (found.way, found.variant) == ("sums", "moments")
    assert "86.0% accuracy is expected, where your own records alone (linear) has 80.0%" in found.sentence
    assert "+6.0 points" in found.sentence


def test_of_ways_that_are_as_good_the_steadiest_is_taken() -> None:
    votes = way("votes", 0.861, error=0.03, settings={"teachers": 24, "total": 120})
    tied = advice(way("sums", 0.84, "gradients", error=0.03), way("sums", 0.86, "moments", error=0.03), votes)
    assert tied.variant == "gradients", "it is within a standard error of the best"
    assert advice(way("sums", 0.84, "gradients", error=0.01), votes).way == "votes"
    assert advice(way("sums", 0.855, "boost", error=0.01), votes).way == "sums"


def test_the_steadiest_of_ways_that_are_as_good_gains_enough_itself() -> None:
    tied = advice(way("sums", 0.804, "gradients", error=0.02), way("sums", 0.808, "moments", error=0.02))
    assert (tied.way, tied.variant) == ("sums", "moments")


def test_own_records_that_do_as_well_are_kept_to() -> None:
    votes = way("votes", 0.79, labels=3, settings={"teachers": 2, "total": 10})
    found = advice(way("sums", 0.804, "moments"), votes)
    assert (found.way, found.commands) == ("nothing", ())
    assert found.sentence.startswith(
        "Do nothing: your 40 records do as well (80.0% accuracy; noisy sums by moments"
    )
    assert "votes buy 3 labels" in found.sentence


def test_a_way_that_may_gain_the_point_which_is_worth_a_budget_is_not_kept_from() -> None:
    found = advice(way("sums", 0.808, "gradients", error=0.015))
    assert (found.way, found.variant) == ("sums", "gradients")


def test_a_gain_that_splits_cannot_tell_from_chance_is_none() -> None:
    assert advice(way("sums", 0.83, "moments", error=0.2)).way == "nothing"
    assert advice(way("sums", 0.83, "moments", error=0.02)).way == "sums"


def test_where_what_gains_most_may_do_so_by_chance_the_next_one_is_taken() -> None:
    votes = way("votes", 0.86, error=0.3, settings={"teachers": 24, "total": 120})
    found = advice(replace(votes, behind_error=0.0), way("sums", 0.84, "bins", error=0.01))
    assert (found.way, found.variant) == ("sums", "bins")


def test_nothing_beats_the_most_frequent_class() -> None:
    found = advice(way("sums", 0.84, "moments"), trivial=0.9)
    assert found.way == "nothing"
    assert (
        "not even your own records, with 80.0%, tell more than always saying the most frequent "
        "(90.0% accuracy; noisy sums by moments"
    ) in found.sentence


def test_rare_classes_are_a_reason() -> None:
    held = replace(way("sums", 0.79, "moments"), behind=0.0)
    every = (way("nothing", 0.95), way("own", 0.96, "linear"), way("pooled", 0.99), held)
    found = recommend(every, "balanced_accuracy", AMOUNTS, 2.0)
    assert "only 5% are not of the most frequent class" in found.sentence
    assert "most frequent class" not in recommend(every, "accuracy", AMOUNTS, 2.0).sentence


def test_where_even_all_records_help_little_noise_is_not_to_blame() -> None:
    found = advice(way("sums", 0.79, "moments"), pooled=0.804)
    assert (
        "Even all records in one place, without any noise, would gain less than half a point"
        in found.sentence
    )
