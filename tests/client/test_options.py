"""Every mechanism from the options that give it, and plans that no mechanism makes."""

from pathlib import Path

import numpy as np
import pytest

from client.options import PlanOptions, make_mechanism, make_plan
from common.datasets import from_arrays
from common.errors import ErrorCode, OstrakaError
from common.mechanism import (
    L1,
    MECHANISMS,
    AnyMechanism,
    Binary,
    Check,
    Confident,
    GnMax,
    Interactive,
    LnMax,
    NoiseCluster,
    Powerset,
    Tau,
)
from common.task import Task, infer_task

CHECK = Check(sigma=9.0, threshold=12.0)


@pytest.mark.parametrize(
    ("given", "made"),
    [
        ({"sigma": 4}, GnMax(sigma=4.0)),
        ({"sigma1": 9, "sigma2": 4, "threshold": 12}, Confident(sigma1=9.0, sigma2=4.0, threshold=12.0)),
        (
            {"sigma1": 9, "sigma2": 4, "threshold": 12, "confidence": 0.8},
            Interactive(sigma1=9.0, sigma2=4.0, threshold=12.0, confidence=0.8),
        ),
        ({"gamma": 0.1}, LnMax(gamma=0.1)),
        ({"sigma": 4}, Binary(sigma=4.0)),
        ({"sigma": 4, "sigma1": 9, "threshold": 12}, Binary(sigma=4.0, check=CHECK)),
        ({"sigma": 4, "tau": 2}, Tau(sigma=4.0, tau=2.0)),
        ({"sigma": 4, "tau": 2, "sigma1": 9, "threshold": 12}, Tau(sigma=4.0, tau=2.0, check=CHECK)),
        ({"sigma": 4, "tau1": 3}, L1(sigma=4.0, tau1=3.0)),
        ({"sigma": 4}, Powerset(sigma=4.0)),
        (
            {"sigma": 4, "max_positives": 2, "sigma1": 9, "threshold": 12},
            Powerset(sigma=4.0, max_positives=2, check=CHECK),
        ),
        ({"sigma": 4}, NoiseCluster(sigma=4.0)),
    ],
)
def test_every_mechanism_has_its_options(given: dict[str, float], made: AnyMechanism) -> None:
    rest = dict.fromkeys({"sigma", "sigma1", "tau", "gamma", "max_positives"} - given.keys())
    assert make_mechanism(made.kind, **given, **rest) == made


@pytest.mark.parametrize(
    ("kind", "given", "told"),
    [
        ("gnmax", {}, "takes sigma; give --sigma"),
        ("gnmax", {"sigma": 4, "tau": 2}, "takes sigma; leave out --tau"),
        ("confident", {"sigma1": 1, "sigma2": 1}, "give --threshold"),
        ("tau", {"sigma": 1, "tau": 1, "max_positives": 1}, "leave out --max-positives"),
        ("binary", {"sigma": 1, "sigma1": 1}, "give --threshold as well"),
        ("powerset", {"sigma": 1, "threshold": 1}, "give --sigma1 as well"),
        ("lottery", {"sigma": 1}, "choose one of gnmax"),
        ("binary", {"sigma": -1}, "sigma"),
        ("interactive", {"sigma1": 1, "sigma2": 1, "threshold": 1, "confidence": 2}, "confidence"),
    ],
)
def test_what_makes_no_mechanism_is_told(kind: str, given: dict[str, float], told: str) -> None:
    with pytest.raises(OstrakaError, match=told) as refused:
        make_mechanism(kind, **given)
    assert refused.value.code is ErrorCode.PLAN_INVALID


def task(*, multi_label: bool) -> Task:
    y = np.tri(3, dtype=int) if multi_label else np.arange(3)
    return infer_task(from_arrays(np.eye(3), y, classes=("ant", "bee", "cat")), "insects")


PARTIES = {"a": "127.0.0.1:1", "b": "127.0.0.1:2"}


def test_a_plan_says_whether_its_task_has_several_labels() -> None:
    for several, mechanism in ((True, Tau(sigma=4.0, tau=1.5)), (False, GnMax(sigma=4.0))):
        plan = make_plan(PlanOptions(mechanism), task(multi_label=several), 10, PARTIES, bytes(16))
        assert plan.multi_label is several


def test_clusters_are_asked_in_one_batch() -> None:
    options = PlanOptions(NoiseCluster(sigma=4.0), batch_size=3, adjacency="label")
    plan = make_plan(options, task(multi_label=False), 10, PARTIES, bytes(16))
    assert (plan.queries, plan.batch_size, plan.adjacency) == (10, 10, "label")


@pytest.mark.parametrize(
    ("options", "several"),
    [
        (PlanOptions(GnMax(sigma=4.0)), True),
        (PlanOptions(Binary(sigma=4.0)), False),
        (PlanOptions(Tau(sigma=4.0, tau=9.0)), True),
        (PlanOptions(GnMax(sigma=4.0), adjacency="label"), False),
    ],
)
def test_a_mechanism_that_does_not_fit_the_task_is_refused(options: PlanOptions, several: bool) -> None:
    with pytest.raises(OstrakaError) as refused:
        make_plan(options, task(multi_label=several), 10, PARTIES, bytes(16))
    assert refused.value.code is ErrorCode.PLAN_INVALID


def test_the_command_line_has_every_parameter() -> None:
    options = (Path(__file__).parents[2] / "client" / "cli.py").read_text()
    fields = {name for kind in MECHANISMS.values() for name in kind.model_fields} - {"kind", "check"}
    assert [name for name in fields if f"    {name}: Annotated[" not in options] == []
