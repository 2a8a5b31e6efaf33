"""Groups of parties: neighbours on a circle, so that every party is in equally many."""

import numpy as np
from numpy.typing import NDArray


def circle(parties: int, size: int) -> NDArray[np.bool_]:
    """Return which parties are in which group, bool (parties, parties): each and the next on a circle.

    A `size` of the parties less one leaves each out once.
    """
    places = np.arange(parties)
    after = (places[None, :] - places[:, None]) % parties
    found: NDArray[np.bool_] = after < size
    return found
