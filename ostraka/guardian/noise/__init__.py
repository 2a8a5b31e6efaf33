"""Noise from a cryptographic source, on the lattice of the ring.

OpenDP's library is loaded by whoever draws: planning on worst cases does without.
"""

from typing import TYPE_CHECKING, Any

from ostraka.guardian.noise.prefetch import DrawnNoise, NoisePrefetcher, ScheduledNoise, calibrate
from ostraka.guardian.noise.source import LATTICE, NoiseSource, lattice_scale

if TYPE_CHECKING:
    from ostraka.guardian.noise.opendp_noise import OpenDpNoise

__all__ = [
    "LATTICE",
    "DrawnNoise",
    "NoisePrefetcher",
    "NoiseSource",
    "OpenDpNoise",
    "ScheduledNoise",
    "calibrate",
    "lattice_scale",
]


def __getattr__(name: str) -> Any:
    if name != "OpenDpNoise":
        raise AttributeError(name)
    from ostraka.guardian.noise.opendp_noise import OpenDpNoise

    return OpenDpNoise
