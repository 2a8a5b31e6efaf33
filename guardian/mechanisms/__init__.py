"""Mechanisms: from a ring sum of ballots, or of updates, to answers. Pure: arrays in, arrays out."""

from ostraka.guardian.mechanisms.answers import REFUSED, Answers
from ostraka.guardian.mechanisms.release import release
from ostraka.guardian.mechanisms.updates import released_updates

__all__ = ["REFUSED", "Answers", "release", "released_updates"]
