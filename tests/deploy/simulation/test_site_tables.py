import pytest

from ostraka.deploy.simulation.querying_party import choice_of
from ostraka.deploy.simulation.settings_file import load_settings
from ostraka.deploy.simulation.site_tables import tables


@pytest.mark.parametrize(
    ("label_dp", "allowed", "shared"),
    [
        ("denoise-ssl", {"randomized_labels": True}, None),
        ("noisecluster", {"label_counts": "label"}, None),
        ("pate-fm", {}, "shared.npz"),
    ],
)
def test_parties_allow_what_is_asked_of_their_labels(
    label_dp: str, allowed: dict[str, bool | str], shared: str | None
) -> None:
    party = tables("party", load_settings(None, {"label_dp": label_dp}))
    assert party.get("policy", {}) == allowed
    assert party["training"].get("shared_features") == shared


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({}, None),
        ({"encoding": "ckks"}, ["plain", "ckks"]),
        ({"head": "linear"}, ["plain", "ckks"]),
        ({"encoding": "ckks", "head": "square"}, ["plain", "ckks"]),
        ({"encoding": "ckks", "head": "square-cnn"}, ["plain", "ckks-square"]),
    ],
)
def test_policies_name_encrypted_queries_where_teachers_have_heads(
    asked: dict[str, str], words: list[str] | None
) -> None:
    settings = load_settings(None, asked)
    for role in ("guardian", "party"):
        assert tables(role, settings).get("policy", {}).get("encodings") == words


def test_teachers_say_yes_from_thresholds_of_their_own() -> None:
    tuned = load_settings(None, {"task": "multilabel", "thresholds": "per_label"})
    assert tables("party", tuned)["training"]["thresholds"] == "per_label"


def test_parties_allow_nothing_of_their_labels_by_default() -> None:
    party = tables("party", load_settings(None, {}))
    assert "policy" not in party
    assert "shared_features" not in party["training"]


def test_policies_name_sums_where_they_are_asked_for() -> None:
    for role in ("guardian", "party"):
        asked, votes = (tables(role, load_settings(None, given)) for given in ({"learn": "auto"}, {}))
        assert asked["policy"]["mechanisms"] == ("votes", "sums")
        assert "mechanisms" not in votes.get("policy", {})
    assert tables("guardian", load_settings(None, {"learn": "auto"}))["policy"]["min_sigma"] < 0.01


def test_teachers_and_networks_alone_are_put_on_the_device_that_is_named() -> None:
    given = {"device": "cuda:1"}
    assert tables("party", load_settings(None, given))["party"] == given
    students = {
        name: choice_of(load_settings(None, given | {"student": name})) for name in ("vat", "supervised")
    }
    assert students["vat"].device == "cuda:1"
    assert students["supervised"].device == "auto"
