"""What parties are about to train is asked for a few parties at a time."""

import asyncio
from pathlib import Path
from typing import cast

import numpy as np
import pytest

from ostraka.client.run.site import SiteEncoder
from ostraka.client.training import joining
from ostraka.client.training.joining import open_training
from ostraka.client.training.peer import JoinedParty, TrainingPeer
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
