"""Noise from a cryptographic source, on the lattice of the ring."""

from ostraka.guardian.noise.lattice import LATTICE, lattice_scale
from ostraka.guardian.noise.opendp_noise import OpenDpNoise
from ostraka.guardian.noise.prefetch import Ahead, DrawnNoise
from ostraka.guardian.noise.schedule import ScheduledNoise
from ostraka.guardian.noise.source import NoiseSource

__all__ = [
    "LATTICE",
    "Ahead",
    "DrawnNoise",
    "NoiseSource",
    "OpenDpNoise",
    "ScheduledNoise",
    "lattice_scale",
]
