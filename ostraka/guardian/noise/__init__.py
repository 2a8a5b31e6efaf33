"""Noise from a cryptographic source, on the lattice of the ring."""

from ostraka.guardian.noise.choice import open_noise
from ostraka.guardian.noise.exact_noise import MAX_SCALE, ExactNoise
from ostraka.guardian.noise.prefetch import DrawnNoise, NoisePrefetcher, ScheduledNoise, calibrate
from ostraka.guardian.noise.source import LATTICE, NoiseSource, lattice_scale

__all__ = [
    "LATTICE",
    "MAX_SCALE",
    "DrawnNoise",
    "ExactNoise",
    "NoisePrefetcher",
    "NoiseSource",
    "ScheduledNoise",
    "calibrate",
    "lattice_scale",
    "open_noise",
]
