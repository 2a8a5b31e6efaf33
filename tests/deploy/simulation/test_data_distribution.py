import numpy as np
import pytest

from ostraka.common.datasets import Dataset, from_arrays
from ostraka.deploy.simulation.quality import Holding, count_holdings, split_words
from ostraka.deploy.simulation.settings_file import load_settings


def shard(y: list[int] | list[list[int]]) -> Dataset:
    return from_arrays(np.zeros((len(y), 1)), np.array(y))


def test_records_are_counted_by_class_also_those_that_nobody_holds() -> None:
    held = count_holdings(["one", "two"], [shard([0, 0, 2]), shard([1])], 4)
    assert held == (
        Holding(party="one", records=3, counts=(2, 0, 1, 0)),
        Holding(party="two", records=1, counts=(0, 1, 0, 0)),
    )


def test_records_of_several_labels_count_for_each() -> None:
    (held,) = count_holdings(["one"], [shard([[0, 1], [1, 1], [0, 0]])], 2)
    assert (held.records, held.counts) == (3, (1, 2))


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({}, "iid, all records at random"),
        ({"split": "label-sorted", "similarity": 1}, "label-sorted, 1% of the records at random"),
        ({"split": "dirichlet", "alpha": 0.5}, "dirichlet, alpha 0.5"),
        ({"split": "column", "by": "age"}, "column age"),
    ],
)
def test_a_split_is_told_in_words(given: dict[str, object], words: str) -> None:
    assert split_words(load_settings(None, given).records) == words
