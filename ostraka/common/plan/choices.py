"""Choices of a plan and of a policy that are words: options offer them without importing what they choose."""

from typing import Literal

ENFORCE = Literal["worst_case", "data_dependent"]
TALLY = Literal["aggregate", "blind"]
ENCODING = Literal["plain", "ckks"]
BASE_TRANSFERS = Literal["ed25519", "ml-kem"]
BALLOTS = Literal["unverified", "verified"]
NOISE = Literal["guardian", "parties"]
VARIANT = Literal["none", "vanishing", "weighting"]
