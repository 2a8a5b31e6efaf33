"""What may be asked for."""

import pytest
from pydantic import ValidationError

from ostraka.client.fitting.fit_options import MAX_EPSILON, FitOptions


def test_no_larger_epsilon_is_asked_for_than_promises_anything() -> None:
    assert FitOptions(epsilon=MAX_EPSILON).epsilon == MAX_EPSILON
    with pytest.raises(ValidationError, match="epsilon"):
        FitOptions(epsilon=2 * MAX_EPSILON)
