"""Exact noise from a cryptographic source, on the lattice of the ring."""

from ostraka.common.noise.exact_noise import MAX_SCALE, ExactNoise
from ostraka.common.noise.self_test import open_exact_noise
from ostraka.common.noise.source import LATTICE, NoiseSource, lattice_scale

__all__ = ["LATTICE", "MAX_SCALE", "ExactNoise", "NoiseSource", "lattice_scale", "open_exact_noise"]
