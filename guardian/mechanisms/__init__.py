"""How a ring sum of ballots becomes answers. Pure: arrays in, arrays out."""

from guardian.mechanisms.answers import REFUSED, Answers
from guardian.mechanisms.release import release

__all__ = ["REFUSED", "Answers", "release"]
