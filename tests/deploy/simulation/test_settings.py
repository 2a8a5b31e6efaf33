from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError

from ostraka.common.console.options import flat_fields, part_models
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.mechanism import (
    Check,
    Confident,
    DistributedGnMax,
    GnMax,
    Powerset,
    RandRes,
    RandResLabels,
    Tau,
    labelling,
)
from ostraka.common.privacy import ORDERS
from ostraka.deploy.simulation.plan import plan_options
from ostraka.deploy.simulation.settings import Settings
from ostraka.deploy.simulation.settings_file import load_settings
from ostraka.deploy.simulation.settings_parts import RecordSettings

DEMO = Path(__file__).parents[3] / "examples" / "demo.toml"


def test_the_demo_is_as_published() -> None:
    demo = load_settings(DEMO, {})
    assert (demo.records.parties, demo.records.labelled, demo.records.queries) == (5, 40, 300)
    assert demo.teaching.teachers == 10
    assert demo.plan_mechanism == Confident(sigma1=10, sigma2=5, threshold=25)
    assert (demo.budgets.epsilon, demo.budgets.delta) == (10, 1e-5)
    assert (demo.budgets.enforce, demo.budgets.bound) == ("data_dependent", "exact")


def test_options_override_the_file() -> None:
    assert load_settings(DEMO, {"parties": 3, "epsilon": None}).records.parties == 3
    assert load_settings(DEMO, {"parties": 3, "epsilon": None}).budgets.epsilon == 10


def test_settings_are_stored_as_people_write_them() -> None:
    settings = Settings(parties=3, epsilon=5, teachers=7)
    stored = settings.model_dump(exclude_defaults=True)
    assert stored == {"parties": 3, "epsilon": 5.0, "teachers": 7}
    assert Settings.model_validate_json(settings.model_dump_json()) == settings
    assert set(settings.model_dump()) == set(flat_fields(Settings))


def test_no_two_parts_have_a_setting_of_the_same_name() -> None:
    names = [name for part in part_models(Settings).values() for name in part.model_fields]
    assert len(names) == len({*names, *part_models(Settings)}) - len(part_models(Settings))


def test_a_part_is_not_given_beside_its_settings() -> None:
    with pytest.raises(ValidationError, match="records is not a setting"):
        Settings(records=RecordSettings(parties=3), parties=4)


def test_a_copy_takes_settings_by_name_and_is_checked() -> None:
    changed = Settings(epsilon=5).model_copy(update={"parties": 3})
    assert (changed.records.parties, changed.budgets.epsilon) == (3, 5.0)
    with pytest.raises(ValidationError, match="Extra inputs"):
        Settings().model_copy(update={"partys": 3})


def test_the_threshold_defaults_to_half_the_teachers() -> None:
    mechanism = Settings(parties=4, teachers=25).plan_mechanism
    assert isinstance(mechanism, Confident)
    assert mechanism.threshold == 50


def test_a_parameter_outside_its_mechanism_is_told_where_it_belongs(tmp_path: Path) -> None:
    file = tmp_path / "older.toml"
    file.write_text('mechanism = "confident"\nsigma1 = 10\n')
    with pytest.raises(OstrakaError, match="sigma1 is said with the mechanism, as in mechanism =") as refused:
        load_settings(file, {})
    assert refused.value.code is ErrorCode.CONFIG_INVALID


def test_parameters_that_were_not_given_have_defaults() -> None:
    assert Settings(mechanism="gnmax:sigma=40").plan_mechanism == GnMax(sigma=40.0)
    assert Settings(mechanism="tau:sigma=40").plan_mechanism == Tau(sigma=40.0, tau=2.0)
    assert Settings(mechanism="powerset:sigma=40").plan_mechanism == Powerset(sigma=40.0, max_positives=3)
    checked = Settings(mechanism="powerset:sigma=3,max_positives=2,check.sigma=4,check.threshold=30")
    assert checked.plan_mechanism == Powerset(
        sigma=3.0, max_positives=2, check=Check(sigma=4.0, threshold=30.0)
    )


def test_teachers_that_learn_together_have_a_model_and_bear_more_noise() -> None:
    settings = Settings(training="dp-ttac")
    assert settings.teachers_model == "logistic"
    assert settings.plan_mechanism == Confident(sigma1=20.0, sigma2=10.0, threshold=25.0)
    few = Settings(training="dp-ttac", parties=2, teachers=5).plan_mechanism
    assert few == Confident(sigma1=10.0, sigma2=5.0, threshold=5.0)
    assert Settings(training="ttac", model="mlp").teachers_model == "mlp"
    assert Settings(training="dp-ttac", head="linear").teachers_model is None
    assert Settings().teachers_model is None


@pytest.mark.parametrize("kind", sorted(labelling().keys() - {"rand_res", "rand_res_labels"}))
def test_every_mechanism_can_be_simulated_by_its_name_alone(kind: str) -> None:
    assert Settings(mechanism=kind).plan_mechanism.kind == kind


def test_several_labels_are_answered_by_tau(tmp_path: Path) -> None:
    data = tmp_path / "several.npz"
    np.savez(data, X=np.zeros((4, 2)), y=np.eye(4, 3, dtype=int))
    for given in ({"data": str(data)}, {"task": "multilabel"}):
        settings = load_settings(None, given)
        assert (settings.plan.mechanism, settings.records.parties, settings.records.queries) == (
            "tau",
            10,
            100,
        )
    assert load_settings(None, {"data": str(data), "mechanism": "binary", "parties": 3}).records.parties == 3


@pytest.mark.parametrize("content", [None, b"no archive"])
def test_data_that_cannot_be_read_are_left_to_who_reads_them(tmp_path: Path, content: bytes | None) -> None:
    data = tmp_path / "data.npz"
    if content is not None:
        data.write_bytes(content)
    assert load_settings(None, {"data": str(data)}).plan.mechanism == "confident"


def test_clusters_are_released_at_once() -> None:
    assert Settings(mechanism="noise_cluster", clusters=40, batch_size=10).batch == 40
    assert Settings(mechanism="gnmax", clusters=40, batch_size=10).batch == 10


@pytest.mark.parametrize(
    ("parties", "quorum", "least"), [(2, None, 2), (5, None, 3), (10, None, 6), (5, 5, 5)]
)
def test_a_majority_is_the_quorum(parties: int, quorum: int | None, least: int) -> None:
    assert Settings(parties=parties, quorum=quorum).least_parties == least


def test_sites_sort_as_they_are_numbered() -> None:
    sites = Settings(parties=12).sites
    assert list(sites) == sorted(sites)


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"mechanism": "confident:sigma1=-1"}, "sigma1"),
        ({"mechanism": "rand_res:epsilon=1", "label_dp": "ldp-ssl"}, "epsilon from label_epsilon"),
        ({"learn": "forests"}, "learn"),
        (
            {"learn": "moments", "label_rounds": 3, "dependencies": True},
            "leave label_rounds and dependencies out",
        ),
        ({"learn": "moments", "student": "vat"}, "leave student out"),
        ({"learn": "auto", "encoding": "ckks"}, "goes with encoding plain, not ckks"),
        ({"learn": "auto", "enforce": "data_dependent"}, "goes with enforce worst_case"),
        ({"learn": "auto", "training": "dp-ttac"}, "goes with training conventional"),
        ({"learn": "auto", "consent": "low=1", "variant": "upsampling"}, "upsampling is of votes"),
        ({"delta": 1.0}, "delta"),
        ({"parties": 1}, "parties"),
        ({"parties": 3, "quorum": 4}, "quorum 4"),
        ({"mechanism": "lottery"}, "mechanism"),
        ({"mechanism": "gnmx"}, r"no mechanism gnmx .* \(did you mean gnmax\?\)"),
        ({"epsilon": 0}, "^--epsilon: must be above 0, is 0; correct it.$"),
        ({"batch_size": 0}, "^--batch-size: must be 1 or more, is 0"),
        ({"mechanism": "gnmax:tau=2"}, "there is no tau"),
        ({"mechanism": "binary:check.sigma=2"}, "check.threshold as well"),
        ({"task": "several"}, "task"),
        ({"adjacency": "label"}, "noise_cluster"),
        ({"adjacency": "label", "mechanism": "noise_cluster", "training": "ttac"}, "adjacency record"),
        ({"training": "federated"}, "training"),
        ({"training": "ttac", "rounds": 1}, "rounds"),
        ({"split": "unfair"}, "split"),
        ({"split": "dirichlet"}, "split dirichlet needs alpha"),
        ({"split": "dirichlet", "alpha": 0}, "alpha"),
        ({"split": "label-sorted", "similarity": 101}, "similarity"),
        ({"split": "iid", "by": "age"}, "by is for split column"),
        ({"mechanism": "noise_cluster", "clusters": 301}, "301 clusters"),
        ({"epsilon": float("inf")}, "epsilon"),
        ({"encoding": "rot13"}, "encoding"),
        ({"tally": "deaf"}, "tally"),
        ({"head": "cubic"}, "head"),
        ({"head": "linear", "model": "mlp"}, "head linear and model mlp exclude each other"),
        ({"encoding": "ckks", "model": "mlp"}, "give head instead of model mlp"),
        ({"tally": "blind", "enforce": "data_dependent"}, "enforce worst_case"),
        ({"student": "genius"}, "student"),
        ({"steps": 5}, "name one, such as student vat"),
        ({"dependencies": True, "label_dp": "pate-fm"}, "leave dependencies out"),
        ({"label_rounds": 2, "queriers": 1, "label_dp": "ldp-ssl"}, "leave label_rounds and queriers out"),
        ({"label_dp": "denoise-ssl", "student": "vat"}, "leave out student"),
        ({"label_dp": "ldp-ssl", "second_student": "denoise-ssl"}, "leave out second_student"),
        ({"learn": "auto", "second_student": "ldp-ssl"}, "leave second_student out"),
        ({"label_dp": "denoise-ssl", "mechanism": "gnmax"}, "goes with mechanism rand_res"),
        ({"label_dp": "pate-fm", "adjacency": "record"}, "goes with adjacency label"),
        ({"label_dp": "pate-fm", "encoding": "ckks"}, "has no encoding ckks"),
        ({"label_dp": "pate-fm", "mechanism": "rand_res"}, "do not vote by rand_res"),
        ({"label_dp": "ldp-ssl", "tally": "blind"}, "has no tally blind"),
        ({"label_dp": "ldp-ssl", "consent": "low=1"}, "or consent levels"),
        ({"label_dp": "pate-fm", "training": "ttac"}, "adjacency record"),
        ({"mechanism": "rand_res"}, "give label_dp"),
        ({"label_rounds": 2, "mechanism": "interactive"}, "do not begin with interactive"),
        ({"label_rounds": 2, "mechanism": "noise_cluster"}, "do not begin with noise_cluster"),
        ({"student": "dp-sgd"}, "needs student_epsilon"),
        ({"student": "vat", "student_epsilon": 8}, "leave them out"),
        ({"student": "dp-sgd", "student_epsilon": 0}, "^--student-epsilon: must be above 0"),
        ({"student": "dp-sgd", "student_epsilon": 8, "label_rounds": 2}, "leave label_rounds out"),
        ({"student": "dp-sgd", "student_epsilon": 8, "mechanism": "noise_cluster"}, "not noise_cluster"),
        ({"student": "dp-sgd", "student_epsilon": 8, "mechanism": "interactive"}, "not interactive"),
        ({"queriers": 6}, "name fewer queriers"),
        ({"queriers": 1, "parties": 2}, "1 parties answer a querying one"),
        ({"queriers": 1, "mechanism": "noise_cluster"}, "leave out queriers"),
    ],
)
def test_a_setting_that_is_off_is_named(given: dict[str, object], named: str) -> None:
    with pytest.raises(OstrakaError, match=named) as caught:
        load_settings(None, given)
    assert caught.value.code == ErrorCode.CONFIG_INVALID


def test_encrypted_queries_are_answered_by_linear_heads_in_large_batches() -> None:
    plain, encrypted = load_settings(None, {}), load_settings(None, {"encoding": "ckks"})
    assert (plain.teachers_head, plain.plan.batch_size) == (None, 100)
    assert (encrypted.teachers_head, encrypted.plan.batch_size) == ("linear", 1024)
    asked = load_settings(None, {"encoding": "ckks", "head": "square-mlp", "batch_size": 7})
    assert (asked.teachers_head, asked.plan.batch_size) == ("square-mlp", 7)
    assert load_settings(None, {"head": "linear"}).teachers_head == "linear"


@pytest.mark.parametrize(
    ("label_dp", "mechanism", "learner"),
    [
        ("denoise-ssl", "rand_res", "denoise-ssl"),
        ("noisecluster", "noise_cluster", "supervised"),
        ("pate-fm", "confident", "fixmatch"),
    ],
)
def test_secret_labels_come_by_a_mechanism_of_their_own(label_dp: str, mechanism: str, learner: str) -> None:
    settings = load_settings(None, {"label_dp": label_dp})
    assert settings.plan_mechanism.kind == mechanism
    assert (settings.plan.adjacency, settings.learning.learner) == ("label", learner)


@pytest.mark.parametrize("mechanism", ["gnmax", "binary", "tau", "powerset"])
def test_teachers_of_shared_features_vote_by_any_mechanism(mechanism: str) -> None:
    settings = load_settings(None, {"label_dp": "pate-fm", "mechanism": mechanism})
    assert (settings.plan_mechanism.kind, settings.plan.adjacency) == (mechanism, "label")
    blind = {"label_dp": "pate-fm", "task": "multilabel", "tally": "blind"}
    assert load_settings(None, blind).plan_mechanism.kind == "tau"


def test_several_secret_labels_come_by_a_mechanism_of_their_own() -> None:
    settings = load_settings(None, {"task": "multilabel", "label_dp": "ldp-normal", "label_epsilon": 4})
    assert settings.plan_mechanism == RandResLabels(epsilon=4.0)
    assert (settings.plan.adjacency, settings.learning.learner) == ("label", "ldp-normal")
    assert settings.order == max(ORDERS)
    assert settings.for_pool(1234).batch == 1234
    with pytest.raises(OstrakaError, match="denoise-ssl learns one label a record"):
        load_settings(None, {"task": "multilabel", "label_dp": "denoise-ssl"})


def test_a_student_learns_from_clusters_and_teachers_as_asked() -> None:
    assert load_settings(None, {"label_dp": "pate-fm", "student": "vat"}).learning.learner == "vat"
    assert Settings(student="mixmatch").learning.learner == "mixmatch"
    assert Settings().learning.learner == "supervised"


def test_every_record_may_answer_where_labels_are_randomised() -> None:
    settings = load_settings(None, {"label_dp": "ldp-normal", "label_epsilon": 3})
    assert settings.plan_mechanism == RandRes(epsilon=3.0)
    assert settings.for_pool(1234).batch == 1234
    assert Settings().for_pool(1234).records.queries == 300


@pytest.mark.parametrize(
    "given",
    [
        {"clusters": 4},
        {"clusters": 4, "student": "vat"},
        {"clusters": 4, "label_dp": "ldp-ssl"},
        {"label_epsilon": 1.0},
        {"label_epsilon": 1.0, "label_dp": "noisecluster"},
    ],
)
def test_an_option_that_would_change_nothing_is_refused(given: dict[str, object]) -> None:
    with pytest.raises(OstrakaError, match="is for") as refused:
        load_settings(None, given)
    assert refused.value.code is ErrorCode.CONFIG_INVALID


@pytest.mark.parametrize("label_dp", ["noisecluster", "denoise-ssl"])
def test_clusters_are_taken_by_what_clusters(label_dp: str) -> None:
    assert load_settings(None, {"clusters": 4, "label_dp": label_dp}).records.clusters == 4


def test_rounds_ask_about_half_of_the_pool_in_equal_parts() -> None:
    assert Settings(label_rounds=4, queries=300).round_queries == 148
    assert Settings(label_rounds=4, queries=3).round_queries == 4


def test_a_querying_party_does_not_answer_itself() -> None:
    settings = Settings(parties=4, queriers=2, labelled=10, queries=50)
    assert (settings.least_parties, settings.drawn) == (2, 110)


def test_what_is_tallied_blindly_costs_what_it_can_at_worst() -> None:
    assert Settings(tally="blind", bound="exact").charged_bound == "worst_case"
    assert Settings(tally="aggregate", bound="exact").charged_bound == "exact"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("partys = 3", r"partys: there is no such key \(did you mean parties\?\)"),
        ("parties = [", "is not TOML"),
        (None, "Cannot read"),
    ],
)
def test_a_file_that_is_off_is_refused(tmp_path: Path, text: str | None, told: str) -> None:
    file = tmp_path / "simulation.toml"
    if text is not None:
        file.write_text(text)
    with pytest.raises(OstrakaError, match=told) as caught:
        load_settings(file, {})
    assert caught.value.code == ErrorCode.CONFIG_INVALID


def test_parties_draw_noise_where_that_is_asked_for() -> None:
    settings = Settings(noise="parties", mechanism="gnmax:sigma=10", parties=5, quorum=5, colluders=1)
    options = plan_options(settings)
    assert (options.noise, options.colluders, options.quorum) == ("parties", 1, 5)
    assert options.distribute_noise(5).mechanism == DistributedGnMax(sigma=10.0, honest=3)
    assert settings.charged_bound == "worst_case"


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"mechanism": "confident"}, "confident needs another draw"),
        ({"colluders": 3}, "at least 5"),
        ({"enforce": "data_dependent"}, "choose worst_case"),
        ({"noise": "guardian", "colluders": 1}, "give both or neither"),
    ],
)
def test_noise_that_parties_cannot_draw_is_refused(changed: dict[str, Any], told: str) -> None:
    asked = {"noise": "parties", "mechanism": "gnmax:sigma=10", "parties": 5} | changed
    with pytest.raises(ValidationError, match=told):
        Settings(**asked)


def test_labels_with_commas_are_several() -> None:
    settings = load_settings(None, {"data": "stays.csv", "label": "sepsis,fall"})
    assert (settings.plan.kind, settings.records.parties) == ("tau", 10)


@pytest.mark.parametrize("kind", ["tau", "l1", "powerset", "binary"])
@pytest.mark.parametrize("labels", [2, 3, 4, 14])
def test_default_radii_suit_few_labels(kind: str, labels: int) -> None:
    settings = Settings(mechanism=kind).for_labels(labels)
    settings.plan_mechanism.check_classes(labels)
    assert settings.for_labels(labels) == settings


def test_a_radius_that_is_given_stays_and_is_refused_where_it_clips_nothing() -> None:
    settings = Settings(mechanism="tau:tau=2").for_labels(2)
    with pytest.raises(OstrakaError, match="clips nothing"):
        settings.plan_mechanism.check_classes(2)
