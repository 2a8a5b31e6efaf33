"""Noise from a cryptographic source, on the lattice of the ring."""

from guardian.noise.lattice import LATTICE, lattice_scale
from guardian.noise.opendp_noise import OpenDpNoise
from guardian.noise.source import NoiseSource

__all__ = ["LATTICE", "NoiseSource", "OpenDpNoise", "lattice_scale"]
