"""The end of a training: teachers as they are served afterwards, and a party that was killed before."""

from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from ostraka.common.console.cli import ExitStatus
from ostraka.common.datasets import save
from ostraka.common.errors import ErrorCode
from ostraka.common.mechanism import DpTtac
from ostraka.common.sharing.ballots import single_label
from ostraka.common.task import infer_task, write_task
from ostraka.deploy.simulation.processes import Start
from ostraka.protos.ostraka.v1 import common_pb2
from ostraka.services.cli import app
from ostraka.services.teachers import Ensemble
from tests.services.conftest import symptoms
from tests.services.training.lead import (
    CLASSES,
    RECIPE,
    RECORDS,
    Lead,
    Training,
    average,
    refusal,
    training,
)
from tests.services.wire import federation


def weights(party: Path) -> bytes:
    return (party / "teachers" / "weights.safetensors").read_bytes()


def test_the_end_stores_teachers_that_take_their_last_steps_from_the_average(plain: Training) -> None:
    with plain.serving() as lead:
        _, after = plain.expected(lead.round(1))
        lead.update(1)
        last = lead.last(theta=average(3), c=average(4), round=4, counted=1)
        lead.finish(last)
    assert plain.ended.is_set()
    (ensemble,) = plain.trained
    stored = Ensemble.load(plain.made.party / "teachers")
    assert stored.manifest == ensemble.manifest
    assert stored.manifest.together == "ttac"
    X = plain.made.task.prepare(plain.records.X)
    nets = plain.algorithm().finish(plain.mechanism, last.as_round, after)
    expected = plain.prepared().ensemble(plain.networks(nets)).predict(X)
    assert np.array_equal(stored.predict(X), expected)
    assert plain.steps == [(1, 5), (5, 5)]


def test_teachers_of_one_class_vote_for_what_they_learned_of_others(noisy: Training) -> None:
    noisy.sort_by_label()
    assert {part.constant for part in noisy.prepared().slices} == set(range(CLASSES))
    with noisy.serving() as lead:
        lead.finish(lead.last())
    (ensemble,) = noisy.trained
    assert ensemble.manifest.constants == {}


def test_what_is_registered_stays_the_same_when_teachers_are_served(noisy: Training) -> None:
    with noisy.serving() as lead:
        lead.finish(lead.last())
    with noisy.made.serving():
        before, after = (signed.payload for signed in noisy.made.guardian.manifests)
    assert before == after
    manifest = common_pb2.Manifest.FromString(after)
    assert (manifest.together, manifest.groups[0].records) == ("dp-ttac", RECORDS)


def test_teachers_that_learned_together_vote(noisy: Training) -> None:
    with noisy.serving() as lead:
        lead.finish(lead.last())
    X = noisy.made.task.prepare(noisy.records.X[:5])
    noisy.ask_for_labels()
    with noisy.made.serving() as caller:
        lead = Lead(caller, "dp-ttac")
        ask = caller.ask(X)
        ask.grant, ask.ticket = lead.grant(), lead.ticket(1, size=5)
        found = caller.ballots(caller.vote(ask))
    assert np.array_equal(found, single_label(noisy.trained[0].predict(X), CLASSES))


def test_the_end_again_stores_the_same(plain: Training) -> None:
    with plain.serving() as lead:
        lead.update(1)
        lead.finish(lead.last(round=4, counted=1))
    first = weights(plain.made.party)
    with plain.serving() as lead:
        lead.finish(lead.last(round=4, counted=1))
    assert weights(plain.made.party) == first


def test_a_restarted_party_goes_on_with_the_variates_that_counted(plain: Training) -> None:
    with plain.serving() as lead:
        _, after = plain.expected(lead.round(1))
        lead.update(1)
    with plain.serving() as lead:
        assert refusal(lead, lead.round(1)) is ErrorCode.BATCH_RESTARTED
        sent = lead.round(2, round=1, counted=1)
        assert np.array_equal(lead.update(2, round=1, counted=1), plain.expected(sent, after)[0])


def test_other_teachers_begin_anew(plain: Training) -> None:
    with plain.serving() as lead:
        lead.update(1)
    with plain.serving(seed=6) as lead:
        assert refusal(lead, lead.round(2, round=1, counted=1)) is ErrorCode.BATCH_OUT_OF_ORDER
        lead.update(3)


def test_damaged_variates_are_noticed(plain: Training) -> None:
    with plain.serving() as lead:
        lead.update(1)
    (kept,) = (plain.made.party / "teachers.together").glob("*.f4")
    kept.write_bytes(kept.read_bytes()[:-3])
    with plain.serving() as lead:
        assert refusal(lead, lead.round(2, round=1, counted=1)) is ErrorCode.MODEL_INVALID


def test_a_state_that_is_none_is_noticed(plain: Training) -> None:
    with plain.serving() as lead:
        lead.update(1)
    (plain.made.party / "teachers.together" / "state.json").write_text("{}")
    with plain.serving() as lead:
        assert refusal(lead, lead.round(2)) is ErrorCode.MODEL_INVALID


def test_only_its_owner_reads_what_a_party_keeps_and_no_more_than_two_rounds(plain: Training) -> None:
    folder = plain.made.party / "teachers.together"
    with plain.serving() as lead:
        for batch in range(4):
            lead.update(batch, round=batch, counted=batch - 1 if batch else None)
            assert len(list(folder.glob("*.f4"))) <= 2
    assert folder.stat().st_mode & 0o077 == 0


@pytest.mark.heavy
def test_a_killed_party_goes_on_and_ends_when_its_teachers_are_stored(plain: Training, start: Start) -> None:
    with plain.process(start) as (child, lead):
        _, after = plain.expected(lead.round(1))
        lead.update(1)
        child.process.kill()
        child.process.wait()
    with plain.process(start) as (child, lead):
        assert refusal(lead, lead.round(1)) is ErrorCode.BATCH_RESTARTED
        sent = lead.round(2, round=1, counted=1)
        assert np.array_equal(lead.update(2, round=1, counted=1), plain.expected(sent, after)[0])
        lead.finish(lead.last(round=4, counted=2))
        assert child.process.wait() == 0
        assert "Trained 3 teachers (logistic" in child.log.read_text()
    told = CliRunner().invoke(app, ["check", "--site", str(plain.made.party), *plain.data]).stdout
    assert "jointly with teachers of other parties by ttac: their votes have no formal guarantee" in told
    assert Ensemble.load(plain.made.party / "teachers").manifest.together == "ttac"


@pytest.mark.heavy
def test_a_party_that_is_stopped_before_the_end_says_so(noisy: Training, start: Start) -> None:
    with noisy.process(start) as (child, lead):
        lead.update(1)
        said = child.log.read_text()
        assert "protects single records: a person only if max_votes_per_person" in said
        child.process.terminate()
        assert child.process.wait() == ExitStatus.STOPPED
        assert "run the same command again to continue" in child.log.read_text().removeprefix(said)
    assert not (noisy.made.party / "teachers").exists()


def test_teachers_of_several_labels_learn_together(tmp_path: Path) -> None:
    folder = tmp_path / "records"
    folder.mkdir()
    several = symptoms(60)
    write_task(infer_task(several, "symptoms"), folder / "task.toml")
    save(several, folder / "records.npz")
    recipe = RECIPE.model_copy(update={"parameters": 7 * 5})
    zeros = np.zeros(7 * 5, np.float32)
    with federation(tmp_path, folder) as made:
        party = training(made, "dp-ttac", DpTtac(recipe=recipe, radius=1.0, sigma=20.0))
        with party.serving() as lead:
            assert lead.train(lead.round(1, theta=zeros, c=zeros)).width == 7 * 5
            lead.finish(lead.last(theta=zeros, c=zeros))
    scores = party.trained[0].predict(made.task.prepare(several.X))
    assert scores.shape == (3, 60, 5)
    assert ((scores >= 0.5) == several.y).mean() > 0.5
