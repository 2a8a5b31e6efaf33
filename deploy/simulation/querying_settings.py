"""Consistency of a simulation's settings with its way of querying."""

from collections.abc import Collection
from typing import TYPE_CHECKING

from ostraka.deploy.simulation.student_settings import suiting

if TYPE_CHECKING:
    from ostraka.deploy.simulation.settings import Settings


def check(settings: "Settings") -> None:
    """Raise ValueError for settings that exclude each other."""
    _check_secret_labels(settings)
    _check_rounds(settings)
    _check_dependencies(settings)
    _check_queriers(settings)


def unused(settings: "Settings", given: Collection[str]) -> str | None:
    """Which of the settings that were given would change nothing, in a sentence; None where all do."""
    clustered = settings.mechanism == "noise_cluster" or settings.learner == "denoise-ssl"
    if "clusters" in given and not clustered:
        return "--clusters is for mechanism noise_cluster and label_dp denoise-ssl; leave it out."
    if "label_epsilon" in given and settings.mechanism != "rand_res":
        return "--label-epsilon is for labels that are randomised; give label_dp, such as denoise-ssl."
    return None


def _check_secret_labels(settings: "Settings") -> None:
    wanted = suiting(settings.label_dp)
    for name, value in wanted.items():
        if getattr(settings, name) != value:
            raise ValueError(f"label_dp {settings.label_dp} goes with {name} {value}; leave {name} out")
    if wanted and (settings.encoding, settings.tally, settings.consent) != ("plain", "aggregate", None):
        raise ValueError(f"label_dp {settings.label_dp} has no encoding ckks, tally blind or consent levels")
    if settings.mechanism == "rand_res" and settings.label_dp is None:
        raise ValueError("mechanism rand_res asks of shared records; give label_dp, such as denoise-ssl")


def _check_rounds(settings: "Settings") -> None:
    if settings.label_rounds > 1 and settings.mechanism not in ("gnmax", "confident"):
        raise ValueError(f"label_rounds begin with gnmax or confident, not {settings.mechanism}")
    if settings.label_rounds > 1 and settings.tally == "blind":
        raise ValueError("label_rounds go on by interactive, which has no tally blind; leave it out")


def _check_dependencies(settings: "Settings") -> None:
    if settings.dependencies and settings.encoding == "ckks":
        raise ValueError("dependencies ask about chosen labels, which needs encoding plain; leave ckks out")


def _check_queriers(settings: "Settings") -> None:
    if settings.queriers is None:
        return
    if settings.queriers > settings.parties:
        raise ValueError(f"{settings.queriers} of {settings.parties} parties cannot ask; name fewer queriers")
    others = settings.parties - 1
    if others < settings.least_parties:
        raise ValueError(
            f"{others} parties answer a querying one, and the quorum is {settings.least_parties}"
        )
    if settings.mechanism in ("noise_cluster", "interactive"):
        raise ValueError(f"mechanism {settings.mechanism} has one querying party; leave out queriers")
