"""Word choices of plans and policies, for options that must not import what the words select."""

from typing import Literal

ENFORCE = Literal["worst_case", "data_dependent"]
TALLY = Literal["aggregate", "blind"]
ENCODING = Literal["plain", "ckks"]
BASE_TRANSFERS = Literal["ed25519", "ml-kem"]
BALLOTS = Literal["unverified", "verified"]
NOISE = Literal["guardian", "parties"]
VARIANT = Literal["none", "vanishing", "weighting"]
