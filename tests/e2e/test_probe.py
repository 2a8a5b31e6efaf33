"""A party whose teachers learned labels in another order, its ballots verified: a probe names it."""

from dataclasses import replace
from pathlib import Path
from shutil import rmtree

import pytest

from ostraka.client.probing.probe import probe
from ostraka.client.run.labelling import LabellingRun
from ostraka.client.run.options import PlanOptions
from ostraka.common.datasets import save
from ostraka.common.mechanism import GnMax
from ostraka.deploy.simulation.federation import QUERY
from ostraka.services.teachers.config import TrainingConfig
from ostraka.services.teachers.training import train
from tests.e2e.sites import QUIET, SETTINGS, SOON, Sites

QUERIES = 40


@pytest.mark.heavy
def test_a_party_with_labels_in_another_order_is_named(sites: Sites, tmp_path: Path) -> None:
    bad = SETTINGS.sites[1]
    shard = sites.split.shards[1]
    shifted = replace(shard, y=(shard.labels() + 1) % len(sites.task.classes))
    teachers = sites.folder / bad / "teachers"
    rmtree(teachers)
    config = TrainingConfig(teachers=SETTINGS.teaching.teachers, model=SETTINGS.teaching.model)
    train(shifted, sites.task, config, seed=0).save(teachers)
    sites.start()
    own = tmp_path / "own.npz"
    save(sites.split.test, own)
    options = PlanOptions(mechanism=GnMax(sigma=QUIET), queries=QUERIES, batch_size=10, ballots="verified")
    result = probe(sites.folder / QUERY, own, options, tmp_path / "probe", run=LabellingRun(retry=SOON))
    assert [group.asked for group in result.groups] == [QUERIES] * 3
    assert {party.site: party.verdict for party in result.parties} == {
        site: "low" if site == bad else "none" for site in SETTINGS.sites
    }
