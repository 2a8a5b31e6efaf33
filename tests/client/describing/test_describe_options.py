"""What may be asked for."""

import pytest
from pydantic import ValidationError

from ostraka.client.describing.describe_options import MAX_EPSILON, DescribeOptions


def test_no_larger_epsilon_is_asked_for_than_promises_anything() -> None:
    assert DescribeOptions(epsilon=MAX_EPSILON).epsilon == MAX_EPSILON
    with pytest.raises(ValidationError, match="epsilon"):
        DescribeOptions(epsilon=2 * MAX_EPSILON)
