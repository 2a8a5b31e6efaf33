"""Tables of the site.toml files of a simulation, except names and addresses."""

from collections.abc import Mapping
from typing import Any

from ostraka.common.identity import Role
from ostraka.common.plan.encodings import PLAIN_ALONE, encoding_of
from ostraka.common.release_kinds import RELEASE_KINDS
from ostraka.deploy.simulation.settings import Settings

SHARED = "shared.npz"
"""A party's file of the records whose features all sites know."""

MIN_SIGMA = 1e-3
"""Least noise of sums, in units: no simulated budget pays for less noise."""

Tables = Mapping[str, Mapping[str, Any]]


def tables(role: str, settings: Settings) -> Tables:
    """Return the tables of a site's role, by name."""
    if role == Role.GUARDIAN:
        return _of_guardian(settings)
    return _of_party(settings) if role == Role.PARTY else {}


def _of_guardian(settings: Settings) -> Tables:
    policy = {
        "enforce": settings.budgets.enforce,
        "bound": settings.budgets.bound,
        "on_exhaustion": settings.budgets.on_exhaustion,
        "delta": settings.budgets.delta,
        "max_batch": settings.batch,
        **_policy_mechanisms(settings),
        **_encodings(settings),
        # However large the budget is, it was requested for the simulation.
        **({"min_sigma": MIN_SIGMA} if settings.learning.sums else {}),
    }
    levels = {"policy.consent": settings.budgets.level_epsilons} if settings.budgets.consent else {}
    return {"policy": policy, **levels}


def _of_party(settings: Settings) -> Tables:
    training = {
        "data": "data.npz",
        "teachers": settings.teachers,
        "seed": settings.records.seed,
        "variant": settings.teachers_variant,
        "thresholds": settings.teaching.thresholds,
    }
    chosen = {"model": settings.teachers_model, "head": settings.teachers_head}
    shared = {"shared_features": SHARED} if settings.learning.label_dp == "pate-fm" else {}
    model = {name: value for name, value in chosen.items() if value}
    training |= {"delta": settings.budgets.delta} if settings.budgets.consent else {}
    levels = {"training.consent": settings.budgets.level_epsilons} if settings.budgets.consent else {}
    policy = {**_opt_in(settings), **_policy_mechanisms(settings), **_encodings(settings)}
    return {
        "party": {"device": settings.teaching.device},
        **({"policy": policy} if policy else {}),
        "training": training | model | shared,
        **levels,
    }


def _policy_mechanisms(settings: Settings) -> Mapping[str, Any]:
    """Return the mechanisms that a policy must name: sums, and ttac, which has no formal guarantee."""
    if settings.learning.sums:
        return {"mechanisms": RELEASE_KINDS}
    training = settings.teaching.training
    return {"mechanisms": [settings.plan.kind, training]} if training == "ttac" else {}


def _encodings(settings: Settings) -> Mapping[str, Any]:
    """Return encrypted queries in addition to plain ones, if teachers have heads for them."""
    head = settings.teachers_head
    return {"encodings": [*PLAIN_ALONE, encoding_of(head)]} if head else {}


def _opt_in(settings: Settings) -> Mapping[str, Any]:
    """Return what a party allows for its own labelled records."""
    values = {"label_counts": settings.plan.adjacency, "randomized_labels": True}
    setting = settings.plan_mechanism.party_setting
    return {} if setting is None else {setting: values[setting]}
