"""What parties are about to train is asked for a few parties at a time, and not all need to answer."""

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import cast

import numpy as np
import pytest

from ostraka.client.run.site import SiteEncoder
from ostraka.client.training import joining
from ostraka.client.training.joining import open_training
from ostraka.client.training.peer import JoinedParty, TrainingPeer
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.task import Task, infer_task
from tests.client.training.sites import TTAC, records


class Asked:
    """A party that answers once every party has had the chance to be asked, and counts who is asked."""

    under_way = 0
    most = 0

    def __init__(self, task: Task) -> None:
        self.joined = JoinedParty("logistic", task.digest, np.zeros(15, np.float32))

    async def probe(self) -> None:
        """Find it serving."""

    async def join(self, kind: str, check: object) -> JoinedParty:
        Asked.under_way += 1
        Asked.most = max(Asked.most, Asked.under_way)
        for _ in range(20):
            await asyncio.sleep(0)
        Asked.under_way -= 1
        return self.joined


@pytest.mark.parametrize("most", [1, 3])
def test_so_many_parties_answer_at_once_and_no_more(
    most: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(joining, "JOIN_AT_ONCE", most)
    monkeypatch.setattr(Asked, "most", 0)
    task = infer_task(records("a"), "t")
    parties = {name: cast(TrainingPeer, Asked(task)) for name in "abcdefgh"}
    open_training(tmp_path, "a", parties, TTAC, task, SiteEncoder(), bytes(16))
    assert Asked.most == most


class Failing(Asked):
    """A party that fails `Join`."""

    async def join(self, kind: str, check: object) -> JoinedParty:
        raise OstrakaError(ErrorCode.MESSAGE_INVALID, "Nonsense.")


def parties_with_liars(task: Task, liars: str) -> dict[str, TrainingPeer]:
    made = {site: Failing(task) if site in liars else Asked(task) for site in "abcde"}
    return {site: cast(TrainingPeer, party) for site, party in made.items()}


def test_parties_that_fail_to_join_are_left_out_and_do_not_lower_the_quorum(tmp_path: Path) -> None:
    task = infer_task(records("a"), "t")
    by_majority = replace(TTAC, quorum=None)
    parties = parties_with_liars(task, "bd")
    store = open_training(tmp_path, "a", parties, by_majority, task, SiteEncoder(), bytes(16))
    assert (store.plan.parties, store.plan.quorum) == (("a", "c", "e"), 3)
    assert store.progress.left_out == {"b": "Nonsense.", "d": "Nonsense."}
    del parties["d"]
    again = open_training(tmp_path, "a", parties, by_majority, task, SiteEncoder(), bytes(range(16)))
    assert again.plan == store.plan


@pytest.mark.parametrize(
    ("liars", "code"), [("bcd", ErrorCode.QUORUM_LOST), ("a", ErrorCode.MESSAGE_INVALID)]
)
def test_nothing_begins_without_a_quorum_or_the_lead_itself(
    liars: str, code: ErrorCode, tmp_path: Path
) -> None:
    task = infer_task(records("a"), "t")
    parties = parties_with_liars(task, liars)
    with pytest.raises(OstrakaError, match=liars[0] + ": ") as refused:
        open_training(tmp_path, "a", parties, replace(TTAC, quorum=None), task, SiteEncoder(), bytes(16))
    assert refused.value.code is code
    assert not list(tmp_path.iterdir())
