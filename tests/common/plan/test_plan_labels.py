"""Labels that a plan chooses: sent and read back, mapped to columns, refused where they make no sense."""

from typing import Any

import pytest

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.mechanism import Binary, GnMax
from ostraka.common.plan.plan import Plan


def chosen(**changes: Any) -> Plan:
    usual: dict[str, Any] = {
        "nonce": bytes(16),
        "task_digest": bytes(32),
        "classes": 3,
        "labels": (1, 4, 7),
        "multi_label": True,
        "mechanism": Binary(sigma=5.0),
        "parties": ("a", "b"),
        "quorum": 2,
        "queries": 10,
        "batch_size": 5,
    }
    return Plan(**usual | changes)


@pytest.mark.parametrize("labels", [(1, 4, 7), (0,), ()], ids=str)
def test_labels_are_sent_and_read_back(labels: tuple[int, ...]) -> None:
    plan = chosen(labels=labels, classes=len(labels) or 3)
    assert Plan.parse(plan.serialize()) == plan


def test_columns_are_places_among_the_chosen_labels() -> None:
    assert chosen().columns_of([7, 0, 1, 3]) == (0, 2)
    assert chosen(labels=()).columns_of([2, 0, 5]) == (0, 2)
    assert chosen().columns_of([]) == ()


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"labels": (4, 1, 7)}, "rising order"),
        ({"labels": (1, 1, 7)}, "once"),
        ({"labels": (1, 4)}, "2 labels are asked for and classes is 3"),
        ({"labels": (-1, 4, 7)}, "labels"),
        ({"multi_label": False, "mechanism": GnMax(sigma=5.0)}, "no labels to choose from"),
        ({"labels": (), "classes": 1}, "nothing to tell apart"),
    ],
)
def test_what_makes_no_sense_is_refused(changes: dict[str, Any], named: str) -> None:
    with pytest.raises(OstrakaError, match=named) as refused:
        chosen(**changes)
    assert refused.value.code is ErrorCode.PLAN_INVALID
