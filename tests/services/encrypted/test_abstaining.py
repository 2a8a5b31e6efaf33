"""Labels that a party abstains from, on encrypted queries: its heads say no, whatever is asked."""

from collections.abc import Iterator
from pathlib import Path
from shutil import copytree

import numpy as np
import pytest

from ostraka.common.crypto.logits import LOGIT_RANGE
from ostraka.common.mechanism import Binary, Mechanism, Tau
from ostraka.services.teachers import Ensemble
from ostraka.services.teachers.encrypted_heads import heads_of
from tests.services.conftest import symptoms
from tests.services.encrypted.conftest import encrypted
from tests.services.encrypted.querier import Encrypted, athens
from tests.services.wire import Federation, federation

LEFT_OUT = [2, 4]
"""Everybody has label 2, so that teachers who knew it would say yes."""


def abstaining(ensemble: Ensemble) -> Ensemble:
    ensemble.manifest = ensemble.manifest.model_copy(update={"abstains": tuple(LEFT_OUT)})
    return ensemble


@pytest.fixture
def clinics(tmp_path: Path, linear_labels: Path) -> Iterator[Federation]:
    folder = tmp_path / "abstaining"
    copytree(linear_labels, folder)
    abstaining(Ensemble.load(linear_labels / "teachers")).save(folder / "teachers")
    with federation(tmp_path, folder) as made:
        encrypted(made)
        yield made


def test_heads_say_no_there_and_are_otherwise_the_same(linear_labels: Path) -> None:
    ensemble = Ensemble.load(linear_labels / "teachers")
    asked = 1e3 * np.random.default_rng(0).normal(size=(50, 6))
    before = [head.plain(asked) for head in heads_of(ensemble)]
    after = [head.plain(asked) for head in heads_of(abstaining(ensemble))]
    others = np.delete(np.arange(5), LEFT_OUT)
    for was, now in zip(before, after, strict=True):
        assert (was[:, LEFT_OUT] > 0).any()
        assert (now[:, LEFT_OUT] == -LOGIT_RANGE / 2).all()
        assert np.array_equal(was[:, others], now[:, others])


@pytest.mark.parametrize("mechanism", [Binary(sigma=10), Tau(sigma=10, tau=1.0)], ids=lambda m: m.kind)
def test_ballots_on_encrypted_queries_are_zero_there(clinics: Federation, mechanism: Mechanism) -> None:
    clinics.replan(mechanism=mechanism)
    X = clinics.task.prepare(symptoms(30, seed=7).X)
    who = athens("linear")
    who.abstains.extend(LEFT_OUT)
    with clinics.serving() as caller:
        found = Encrypted(caller, X, who=who).run()
    wanted = mechanism.ballot.count(Ensemble.load(clinics.party / "teachers").predict(X), 5)
    assert (found != wanted).any(axis=1).mean() <= 0.04
    assert not found[:, LEFT_OUT].any()
    assert found.any()
