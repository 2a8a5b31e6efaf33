"""What more records would add to figures of a few."""

import numpy as np
import pytest

from ostraka.deploy.advice.attempts import Attempt
from ostraka.deploy.advice.growth import Growth, grow
from ostraka.deploy.advice.measures import Measured
from ostraka.deploy.advice.splits import Amounts

AMOUNTS = Amounts(own=50, pool=50, test=50, private=1_000, shown=100, queries=500)
LIMIT = 0.9
SLOPE = 5.0


def told(records: float) -> Measured:
    return Measured(LIMIT - SLOPE / records, None, None)


def attempts(few: Measured, many: Measured) -> list[Attempt]:
    return [
        Attempt("nothing", "most frequent", None, Measured(0.5)),
        Attempt("own", "linear", None, few),
        Attempt("own", "forest", None, few),
        Attempt("pooled", "linear", None, many),
        Attempt("pooled", "forest", None, many),
        Attempt("sums", "moments", 2.0, told(150)),
        Attempt("votes", "declared teachers", 2.0, told(60), labels=40, settings={"learned": 10}),
    ]


def grown(few: Measured, many: Measured) -> dict[tuple[str, str], float | None]:
    found = grow(attempts(few, many), AMOUNTS, labelled=200)
    return {(one.way, one.variant): one.measured.accuracy for one in found}


def test_every_way_grows_to_the_records_that_it_would_have() -> None:
    found = grown(told(50), told(150))
    assert found["own", "linear"] == pytest.approx(LIMIT - SLOPE / 200), "all own records"
    assert found["own", "forest"] == found["own", "linear"]
    assert found["pooled", "linear"] == pytest.approx(LIMIT - SLOPE / 1_200)
    assert found["sums", "moments"] == pytest.approx(LIMIT - SLOPE / 1_200)
    assert found["votes", "declared teachers"] == pytest.approx(LIMIT - SLOPE / 240), "own ones and labels"
    assert found["nothing", "most frequent"] == 0.5


def test_where_more_records_made_it_worse_nothing_is_added() -> None:
    found = grown(told(150), told(50))
    assert found["own", "linear"] == told(50).accuracy
    assert found["sums", "moments"] == told(150).accuracy


def test_a_figure_grows_to_its_limit_at_most() -> None:
    growth = Growth.between(0.6, 0.8, AMOUNTS)
    gains = [growth.gain(150, many) for many in (150, 300, np.inf)]
    assert gains[0] == 0
    assert gains[0] < gains[1] < gains[2] <= 0.5 * 0.2 + 1e-12, "half of what a threefold number added"
