"""Training recipes for each library's models, from a party's settings."""

from collections.abc import Callable, Iterable, Iterator, Sequence

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.learning.device import HOST, Device
from ostraka.services.teachers.assignment import Slice
from ostraka.services.teachers.config import Progress, TrainingConfig
from ostraka.services.teachers.ensemble import Models
from ostraka.services.teachers.manifest import TeachersManifest

Fit = Callable[[Sequence[Slice], Progress], Models]
"""Trains one model per slice."""
FitGroups = Callable[
    [Sequence[Sequence[Slice]], TeachersManifest, TrainingConfig, Progress], Iterable[Models]
]
"""Trains the models of each group of slices, in order."""


def fit_here(device: Device = HOST) -> FitGroups:
    """Return a function that trains models of each group of slices, in order, in this process on a device.

    It raises:
        OstrakaError: `config.invalid` for settings that do not apply to the model, and what training raises.
    """

    def fit_groups(
        groups: Sequence[Sequence[Slice]],
        manifest: TeachersManifest,
        config: TrainingConfig,
        progress: Progress,
    ) -> Iterator[Models]:
        fit = fit_of(manifest, config, device)
        for place, slices in enumerate(groups):
            yield fit(slices, _part(progress, place, len(groups)))

    return fit_groups


def fit_of(manifest: TeachersManifest, config: TrainingConfig, device: Device) -> Fit:
    """Return the training function of the manifest's library; raise as the result of `fit_here` does."""
    return networks(manifest, config, device) if manifest.library == "torch" else estimators(manifest, config)


def _part(progress: Progress, place: int, parts: int) -> Progress:
    """Report the progress of one of several equal parts as progress of the whole."""
    return lambda done, total: progress(place * total + done, parts * total)


def networks(manifest: TeachersManifest, config: TrainingConfig, device: Device) -> Fit:
    """Return a function that trains networks, all with the schedule of the party's mean slice.

    Raises:
        OstrakaError: `config.invalid` if records that are not images should be rotated.
    """
    from ostraka.common.learning.shape import image_axes
    from ostraka.services.teachers.batches import Schedule
    from ostraka.services.teachers.fitting import fit_networks
    from ostraka.services.teachers.nets import Networks

    axes = image_axes(manifest.shape)
    if config.rotate and axes is None:
        raise _no_use("rotate", "turns images, and the records are none")
    schedule = Schedule.of(manifest.slice_sizes, manifest.model, axes, config)

    def fit(slices: Sequence[Slice], progress: Progress) -> Models:
        nets = fit_networks(
            slices, manifest.model, manifest.classes, config, progress, schedule, device=device
        )
        return Networks.of(manifest.model, manifest.shape, nets, device)

    return fit


def estimators(manifest: TeachersManifest, config: TrainingConfig) -> Fit:
    """Return a function that fits scikit-learn estimators.

    Raises:
        OstrakaError: `config.invalid` for settings that only apply to networks.
    """
    from ostraka.services.teachers.estimators import fit_estimators

    for name in ("rotate", "held_out"):
        if getattr(config, name):
            raise _no_use(name, f"is for networks, and {manifest.model} is none")

    def fit(slices: Sequence[Slice], progress: Progress) -> Models:
        return fit_estimators(slices, manifest.model, manifest.classes, progress, balanced=config.balanced)

    return fit


def _no_use(name: str, problem: str) -> OstrakaError:
    return OstrakaError(
        ErrorCode.CONFIG_INVALID,
        f"{name} {problem}: take it out of [training] of site.toml, or name another model.",
    )
