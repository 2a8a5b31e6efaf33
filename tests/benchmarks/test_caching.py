"""Kept measures are found again under the same settings alone."""

from dataclasses import replace

from benchmarks.caching import digest
from benchmarks.capc_multilabel.data import QUICK
from benchmarks.dpsgd.data import PROBLEMS
from benchmarks.dpsgd.networks import linear, tanh_cnn
from benchmarks.label_dp.data import SIZES, Dataset
from benchmarks.label_dp.settings import NOISE_CLUSTER, PATE_FM, settings
from ostraka.common.mechanism import Binary, Tau

SIZE = SIZES[Dataset.DIGITS]


def test_a_digest_tells_settings_apart_and_is_the_same_in_every_process() -> None:
    assert digest(1, "two", None, (0.5,)) == "10ad2273"
    every = [
        QUICK,
        replace(QUICK, binary=Binary(sigma=6)),
        replace(QUICK, tau=Tau(sigma=5, tau=1.3)),
        replace(QUICK, teachers=11),
        linear,
        tanh_cnn,
        *PROBLEMS,
    ]
    assert len({digest(one) for one in every}) == len(every)
    assert digest(linear) == digest(linear)


def test_cells_of_label_dp_depend_on_sizes_and_steps_but_not_on_how_many_seeds_there_are() -> None:
    changed = (
        replace(SIZE, train=1000),
        replace(SIZE, clusters=11),
        replace(SIZE, embedding=1),
        replace(SIZE, teachers=5),
        replace(SIZE, steps=5),
        replace(SIZE, network="linear"),
    )
    names = {digest(*settings(PATE_FM, size)) for size in (SIZE, *changed)}
    assert len(names) == 7
    assert settings(PATE_FM, replace(SIZE, seeds=9)) == settings(PATE_FM, SIZE)
    assert settings(NOISE_CLUSTER, replace(SIZE, steps=5)) == settings(NOISE_CLUSTER, SIZE)
