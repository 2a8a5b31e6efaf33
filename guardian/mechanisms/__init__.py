"""How a ring sum of ballots becomes answers. Pure: arrays in, arrays out."""

from guardian.mechanisms.answers import Answers
from guardian.mechanisms.release import release

__all__ = ["Answers", "release"]
