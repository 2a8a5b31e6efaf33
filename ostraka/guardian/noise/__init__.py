"""The guardian's noise: the source that its site.toml names, drawn ahead of releases."""

from ostraka.common.noise import LATTICE, MAX_SCALE, ExactNoise, NoiseSource, lattice_scale
from ostraka.guardian.noise.choice import open_noise
from ostraka.guardian.noise.prefetch import DrawnNoise, NoisePrefetcher, ScheduledNoise, calibrate

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
