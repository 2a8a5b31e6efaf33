"""Noise from a cryptographic source, on the lattice of the ring."""

from guardian.noise.ahead import Ahead, DrawnNoise
from guardian.noise.demand import Draw, draws_of
from guardian.noise.lattice import LATTICE, lattice_scale
from guardian.noise.opendp_noise import OpenDpNoise
from guardian.noise.schedule import ScheduledNoise
from guardian.noise.source import NoiseSource

__all__ = [
    "LATTICE",
    "Ahead",
    "Draw",
    "DrawnNoise",
    "NoiseSource",
    "OpenDpNoise",
    "ScheduledNoise",
    "draws_of",
    "lattice_scale",
]
