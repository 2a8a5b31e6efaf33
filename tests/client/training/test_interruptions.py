"""Trainings in which the lead, a party or a budget gives out in the middle."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import count
from pathlib import Path
from threading import Event
from typing import Any

import numpy as np
import pytest

from ostraka.client.peers.guardian_peer import GuardianPeer
from ostraka.client.session import availability
from ostraka.client.training import lead as training_lead
from ostraka.client.training.peer import TrainingPeer
from ostraka.client.training.training_state import TrainingProgress, TrainingStore
from ostraka.common.clock import ManualClock, SystemClock
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.services.admission.grants import GrantedSession, Permission
from ostraka.services.training.rounds import Trainer
from tests.client.training.sites import DP_TTAC, PARTIES, POLICY, ROUNDS, TTAC, Sites, training_sites

WAIT_S = 60.0
STEPS: tuple[tuple[type, str], ...] = (
    *((GuardianPeer, name) for name in ("open_session", "open_batch", "prepare", "release_update")),
    *((GuardianPeer, name) for name in ("settle", "released_update", "close_session")),
    *((TrainingPeer, name) for name in ("join", "train", "finish")),
    (TrainingStore, "keep"),
)
"""All that a lead does that others, or its next run, could tell."""


class Killed(BaseException):
    """The end of a process."""


@contextmanager
def killed_at(step: int | None) -> Iterator[Callable[[], int]]:
    """Within the block a lead dies before its `step`-th step, and takes no other; gets how many it took."""
    taken = 0

    def dying(original: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            nonlocal taken
            if taken == step:
                raise Killed
            taken += 1
            return original(*args, **kwargs)

        return call

    with pytest.MonkeyPatch.context() as patched:
        for owner, name in STEPS:
            patched.setattr(owner, name, dying(getattr(owner, name)))
        yield lambda: taken


def lead_after_kill(sites: Sites, options: Any, out: Path, step: int) -> bool:
    """Lead a training that is killed before a step, then go on; whether there was such a step."""
    with killed_at(step):
        try:
            sites.lead(options, out=out)
        except Killed:
            pass
        else:
            return False
    sites.lead(options, out=out)
    return True


@pytest.mark.heavy
def test_a_lead_that_dies_before_any_step_moves_the_average_alike(plain: Sites, tmp_path: Path) -> None:
    options = replace(TTAC, rounds=3)
    plain.lead(options)
    whole = plain.state()
    for step in count():
        out = tmp_path / str(step)
        if not lead_after_kill(plain, options, out, step):
            break
        state = plain.state(out)
        np.testing.assert_array_equal(state.average.theta, whole.average.theta)
        np.testing.assert_array_equal(state.average.c, whole.average.c)
        assert state.progress.taking_part == (3, 3)
        assert sorted(state.progress.finished) == list(PARTIES)
    assert step > 20


@pytest.mark.heavy
def test_a_lead_that_dies_before_any_step_pays_for_no_round_twice(noisy: Sites, tmp_path: Path) -> None:
    short = replace(DP_TTAC, rounds=2)
    for step in count():
        before = noisy.charged
        if not lead_after_kill(noisy, short, tmp_path / str(step), step):
            break
        assert noisy.charged == {site: rounds + 1 for site, rounds in before.items()}
    assert step > 10


@pytest.mark.heavy
def test_a_party_that_dies_is_left_out_and_counts_again_once_it_is_back(
    plain: Sites, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(availability, "TRY_AGAIN_AFTER", 1)

    def told(progress: TrainingProgress) -> None:
        if progress.number == 2 and "b" in plain.serving:
            plain.stop("b")
        if progress.number == 3 and "b" not in plain.serving:
            plain.start("b")

    report = plain.lead(replace(TTAC, rounds=9), on_progress=told)
    assert report.taking_part == (3, 3, 2, 2, 3, 3, 3, 3)
    progress = plain.state().progress
    assert len(set(progress.counted.values())) == 1
    assert plain.stored == dict.fromkeys(PARTIES, 1)


@pytest.mark.heavy
def test_a_party_that_hangs_is_cut_off_and_its_late_update_is_refused_unpaid(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It hangs in the second round, and goes on once that is released."""
    released, late, ended = Event(), list[ErrorCode](), Event()
    train = Trainer.train

    def hanging(self: Trainer, permission: Permission, *rest: Any) -> Any:
        if (permission.participant.site, permission.batch_id) != ("b", 2):
            return train(self, permission, *rest)
        assert released.wait(WAIT_S)
        try:
            return train(self, permission, *rest)
        except OstrakaError as error:
            late.append(error.code)
            raise
        finally:
            ended.set()

    def told(progress: TrainingProgress) -> None:
        if progress.number == 2:
            released.set()
            assert ended.wait(WAIT_S)

    monkeypatch.setattr(Trainer, "train", hanging)
    with training_sites(tmp_path, "dp-ttac", POLICY + "allowed_skew_s = 0.0\n") as sites:
        sites.start_all()
        report = sites.lead(DP_TTAC, on_progress=told)
        assert late == [ErrorCode.BATCH_DEAD]
        assert report.taking_part == (3, 2, 2)
        assert "freeze_after_s" in report.left_out["b"]
        paid = {site: unit["history"] for site, unit in sites.units.items()}
        assert paid["b"][-1]["epsilon_worst_case"] == paid["b"][0]["epsilon_worst_case"]
        assert paid["a"][-1]["epsilon_worst_case"] > paid["a"][1]["epsilon_worst_case"]
        assert sites.stored == dict.fromkeys(PARTIES, 1)


@pytest.mark.heavy
def test_a_party_that_took_part_in_no_round_is_not_waited_for_at_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(training_lead, "IDLE_S", 0.0)
    over = Event()

    def hang_at_b(work: Callable[..., Any]) -> Callable[..., Any]:
        def hang(self: Trainer, session: GrantedSession, *rest: Any) -> Any:
            if session.participant.site == "b":
                assert over.wait(WAIT_S)
            return work(self, session, *rest)

        return hang

    monkeypatch.setattr(Trainer, "train", hang_at_b(Trainer.train))
    monkeypatch.setattr(Trainer, "finish", hang_at_b(Trainer.finish))
    with training_sites(tmp_path, "dp-ttac", POLICY + "allowed_skew_s = 0.0\n") as sites:
        try:
            sites.start_all()
            report = sites.lead(DP_TTAC)
        finally:
            over.set()
        assert report.taking_part == (2,) * (ROUNDS - 1)
        assert list(report.left_out) == ["b"]
        assert "had not answered" in report.left_out["b"]
        assert sites.units["b"]["epsilon_worst_case"] == 0


@pytest.mark.heavy
def test_a_party_pays_for_the_rounds_that_it_took(noisy: Sites) -> None:
    def told(progress: TrainingProgress) -> None:
        if progress.number == 1 and "b" in noisy.serving:
            noisy.stop("b")
        if progress.number == 2 and "b" not in noisy.serving:
            noisy.start("b")

    noisy.lead(DP_TTAC, on_progress=told)
    report = noisy.lead(DP_TTAC)
    charged = {site: unit["epsilon_worst_case"] for site, unit in noisy.units.items()}
    assert {cost.site: cost.epsilon for cost in report.costs} == pytest.approx(charged)
    assert charged["b"] < charged["a"]
    shares = {cost.site: cost.share for cost in report.costs}
    assert shares["b"] == pytest.approx(shares["a"] * noisy.state().progress.taken["b"] / (ROUNDS - 1))


@pytest.mark.heavy
def test_too_few_parties_stop_a_training_which_goes_on_later(noisy: Sites) -> None:
    def told(progress: TrainingProgress) -> None:
        if progress.number == 1:
            for site in ("b", "c"):
                if site in noisy.serving:
                    noisy.stop(site)

    with pytest.raises(OstrakaError) as lost:
        noisy.lead(DP_TTAC, on_progress=told)
    assert lost.value.code == ErrorCode.QUORUM_LOST
    assert "run the same command again" in lost.value.message
    for site in ("b", "c"):
        noisy.start(site)
    assert noisy.lead(DP_TTAC).taking_part == (3,) * (ROUNDS - 1)
    assert noisy.charged == dict.fromkeys(PARTIES, ROUNDS - 1)


@pytest.mark.heavy
def test_a_party_that_misses_the_end_has_it_later(plain: Sites) -> None:
    def told(progress: TrainingProgress) -> None:
        if progress.number == ROUNDS - 1 and "b" in plain.serving:
            plain.stop("b")

    with pytest.raises(OstrakaError) as unfinished:
        plain.lead(TTAC, on_progress=told)
    assert unfinished.value.code == ErrorCode.PARTY_UNREACHABLE
    assert "run `ostraka party train` there again, then this command" in unfinished.value.message
    assert plain.stored == {"a": 1, "c": 1}
    plain.start("b")
    plain.lead(TTAC)
    assert plain.stored == dict.fromkeys(PARTIES, 1)
    assert plain.teachers("b").manifest.together == "ttac"


@pytest.mark.heavy
def test_a_guardian_that_restarts_in_the_middle_counts_every_round_once(plain: Sites) -> None:
    def told(progress: TrainingProgress) -> None:
        if progress.number in (1, 2) and progress.number not in restarts:
            restarts.append(progress.number)
            plain.restart_guardian()

    restarts: list[int] = []
    assert plain.lead(TTAC, on_progress=told).taking_part == (3,) * (ROUNDS - 1)
    assert restarts == [1, 2]
    np.testing.assert_array_equal(plain.state().average.theta, plain.expected(TTAC).theta)


@pytest.mark.heavy
def test_a_training_that_takes_longer_than_its_grant_ends_with_what_was_learnt(noisy: Sites) -> None:
    clock = ManualClock(SystemClock().now())

    def told(progress: TrainingProgress) -> None:
        if progress.number == 1:
            clock.advance(2 * 86_400)

    report = noisy.lead(DP_TTAC, on_progress=told, clock=clock)
    assert report.stopped is not None
    assert "another --out" in report.stopped
    assert report.rounds == 2
    assert noisy.stored == dict.fromkeys(PARTIES, 1)
    assert noisy.charged == dict.fromkeys(PARTIES, 1)


@pytest.mark.heavy
def test_a_budget_that_runs_out_ends_with_what_was_learnt(noisy: Sites, tmp_path: Path) -> None:
    one = noisy.lead(replace(DP_TTAC, rounds=2)).costs[0]
    with training_sites(tmp_path / "poor", "dp-ttac", POLICY) as sites:
        sites.start_all(epsilon=2.5 * one.epsilon)
        report = sites.lead(DP_TTAC)
        assert report.stopped is not None
        assert 2 <= report.rounds < ROUNDS
        assert len(report.taking_part) == report.rounds - 1
        assert sites.stored == dict.fromkeys(PARTIES, 1)
        assert sites.charged == dict.fromkeys(PARTIES, report.rounds - 1)
        charged = {site: unit["epsilon_worst_case"] for site, unit in sites.units.items()}
        assert {cost.site: cost.epsilon for cost in report.costs} == pytest.approx(charged)
        assert sites.lead(DP_TTAC) == report


@pytest.mark.heavy
def test_a_budget_for_no_round_is_refused(tmp_path: Path) -> None:
    with training_sites(tmp_path, "dp-ttac", POLICY) as sites:
        sites.start_all(epsilon=1.0)
        with pytest.raises(OstrakaError) as refused:
            sites.lead(DP_TTAC)
        assert refused.value.code == ErrorCode.BUDGET_TOO_SMALL
        assert not sites.stored
