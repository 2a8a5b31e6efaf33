"""A training from its options to its teachers, and what it is refused for."""

import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ostraka.client.training.joining import TrainingOptions
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.task import infer_task
from tests.client.training.sites import (
    CLASSES,
    DP_TTAC,
    PARTIES,
    POLICY,
    RECORDS,
    ROUNDS,
    TTAC,
    WITH_TTAC,
    Sites,
    records,
    training_sites,
)


def refused(sites: Sites, options: TrainingOptions, **changes: Any) -> OstrakaError:
    with pytest.raises(OstrakaError) as caught:
        sites.lead(options, **changes)
    return caught.value


@pytest.mark.heavy
def test_ttac_is_algorithm_one_over_real_servers(plain: Sites) -> None:
    running: set[str] = set()
    report = plain.lead(TTAC, on_progress=lambda _: running.update(one.name for one in threading.enumerate()))
    assert "calls" in running
    assert not [name for name in running if name.startswith("party")]
    state = plain.state()
    expected = plain.expected(TTAC)
    np.testing.assert_array_equal(state.average.theta, expected.theta)
    np.testing.assert_array_equal(state.average.c, expected.c)
    assert (report.guarantee, report.rounds, report.costs) == ("none", ROUNDS, ())
    assert report.taking_part == (3,) * (ROUNDS - 1)
    assert {plain.teachers(site).manifest.together for site in PARTIES} == {"ttac"}
    assert all(unit["epsilon_worst_case"] == 0 for unit in plain.units.values())


@pytest.mark.heavy
@pytest.mark.parametrize("clip", ["record", "party"])
def test_dp_ttac_is_charged_what_its_report_says(noisy: Sites, clip: Any) -> None:
    report = noisy.lead(replace(DP_TTAC, clip=clip))
    assert (report.guarantee, report.rounds) == (clip, ROUNDS)
    charged = {site: unit["epsilon_worst_case"] for site, unit in noisy.units.items()}
    assert {cost.site: cost.epsilon for cost in report.costs} == pytest.approx(charged)
    assert noisy.charged == dict.fromkeys(PARTIES, ROUNDS - 1)
    assert {noisy.teachers(site).manifest.together for site in PARTIES} == {"dp-ttac"}


@pytest.mark.heavy
def test_dp_ttac_follows_the_mean_of_clipped_gradients(noisy: Sites) -> None:
    noisy.lead(DP_TTAC)
    state = noisy.state()
    expected = noisy.expected(DP_TTAC)
    moved = np.linalg.norm(expected.theta - noisy.expected(DP_TTAC, rounds=0).theta)
    within = 12 * DP_TTAC.sigma / (RECORDS * len(PARTIES)) * DP_TTAC.average_rate * DP_TTAC.learning_rate
    assert moved > 20 * within
    np.testing.assert_allclose(state.average.theta, expected.theta, atol=within)


@pytest.mark.heavy
def test_teachers_behind_an_encoder_learn_behind_it(tmp_path: Path) -> None:
    encoder = "tests.client.training.encoders:pairs"
    with training_sites(tmp_path, "dp-ttac", POLICY) as sites:
        for site in PARTIES:
            sites.start(site, encoder=encoder)
            sites.budget(site, 1e9)
        assert refused(sites, DP_TTAC, out=tmp_path / "without").code == ErrorCode.TASK_MISMATCH
        with (sites.folders.parties["a"] / "site.toml").open("a") as file:
            file.write(f'\n[training]\nencoder = "{encoder}"\n')
        assert sites.lead(DP_TTAC).rounds == ROUNDS
        assert sites.teachers("b").manifest.encoder == encoder
        assert sites.state().plan.mechanism.width(CLASSES) == (2 + 1) * CLASSES


@pytest.mark.heavy
def test_a_training_that_is_done_is_told_again_and_costs_nothing_more(noisy: Sites) -> None:
    report = noisy.lead(DP_TTAC)
    assert noisy.lead(DP_TTAC) == report
    assert noisy.charged == dict.fromkeys(PARTIES, ROUNDS - 1)
    assert set(noisy.stored.values()) == {1}


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("changes", "named"),
    [({"rounds": 9}, "queries"), ({"sigma": 0.2}, "mechanism"), ({"quorum": 3}, "quorum")],
)
def test_a_training_goes_on_with_its_own_options_alone(
    noisy: Sites, changes: dict[str, Any], named: str
) -> None:
    noisy.lead(DP_TTAC)
    error = refused(noisy, replace(DP_TTAC, **changes))
    assert (error.code, f"other {named}:" in error.message) == (ErrorCode.RUN_MISMATCH, True)


@pytest.mark.heavy
def test_a_damaged_training_says_so(noisy: Sites, tmp_path: Path) -> None:
    noisy.lead(DP_TTAC)
    file = noisy.folders.parties["a"] / "training" / "training.safetensors"
    file.write_bytes(file.read_bytes()[:40])
    assert refused(noisy, DP_TTAC).code == ErrorCode.RUN_MISMATCH


@pytest.mark.heavy
def test_others_train_without_a_party_that_cannot_join_and_repeat_that_after_an_interruption(
    noisy: Sites,
) -> None:
    noisy.stop("b")
    noisy.start("b", model="mlp")
    report = noisy.lead(DP_TTAC)
    assert report.taking_part == (2,) * (ROUNDS - 1)
    assert "it trains mlp with" in report.left_out["b"]
    assert "give all parties the same --model" in report.left_out["b"]
    assert noisy.charged == {"a": ROUNDS - 1, "b": 0, "c": ROUNDS - 1}
    assert sorted(noisy.stored) == ["a", "c"]
    assert noisy.lead(DP_TTAC) == report


@pytest.mark.heavy
@pytest.mark.parametrize("quorum", [3, 4])
def test_too_few_parties_that_join_open_nothing_and_are_told_who_does_not(noisy: Sites, quorum: int) -> None:
    noisy.stop("b")
    noisy.start("b", infer_task(records("b"), "other", *map(records, PARTIES)))
    error = refused(noisy, replace(DP_TTAC, quorum=quorum))
    assert error.code == ErrorCode.QUORUM_LOST
    assert "b: [task.mismatch] Party b trains for another task" in error.message
    assert noisy.charged == dict.fromkeys(PARTIES, 0)
    assert not (noisy.folders.parties["a"] / "training" / "training.safetensors").exists()


def test_parties_that_learn_otherwise_say_so(noisy: Sites) -> None:
    error = refused(noisy, TTAC)
    assert error.code == ErrorCode.PLAN_INVALID
    assert "--training" in error.message


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("changes", "told"), [({"rounds": 1}, "from two rounds on"), ({"quorum": 4}, "a quorum of 4")]
)
def test_plans_that_make_no_sense_open_nothing(noisy: Sites, changes: dict[str, int], told: str) -> None:
    error = refused(noisy, replace(DP_TTAC, **changes))  # type: ignore[arg-type]
    assert (error.code, told in error.message) == (ErrorCode.PLAN_INVALID, True)
    assert noisy.charged == dict.fromkeys(PARTIES, 0)


@pytest.mark.heavy
def test_ttac_is_refused_where_the_guardian_does_not_name_it(tmp_path: Path) -> None:
    with training_sites(tmp_path, "ttac", POLICY) as sites:
        sites.start_all()
        error = refused(sites, TTAC)
    assert error.code == ErrorCode.POLICY_REFUSED
    assert not sites.stored


@pytest.mark.heavy
def test_a_party_that_does_not_name_ttac_takes_no_part(tmp_path: Path) -> None:
    with training_sites(tmp_path, "ttac", WITH_TTAC) as sites:
        file = sites.folders.parties["b"] / "site.toml"
        file.write_text(file.read_text().partition("\n[policy]")[0])
        sites.start_all()
        report = sites.lead(TTAC)
        assert report.taking_part == (2,) * (ROUNDS - 1)
        assert list(report.left_out) == ["b"]
        assert "ttac" in report.left_out["b"]
        assert sorted(sites.stored) == ["a", "c"]
        assert sites.lead(TTAC).left_out == report.left_out


def test_who_lists_no_parties_leads_nobody(noisy: Sites) -> None:
    noisy.folders.parties["a"].joinpath("site.toml").write_text(
        (noisy.folders.parties["b"] / "site.toml").read_text().replace('site = "b"', 'site = "z"')
    )
    error = refused(noisy, DP_TTAC)
    assert (error.code, "leads nobody" in error.message) == (ErrorCode.CONFIG_INVALID, True)
