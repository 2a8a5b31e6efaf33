"""Options of fits and statistics that promise something."""

import pytest
from pydantic import ValidationError

from ostraka.client.describing import describe_options
from ostraka.client.describing.describe_options import DescribeOptions
from ostraka.client.fitting import fit_options
from ostraka.client.fitting.fit_options import FitOptions


def test_an_epsilon_is_above_0_and_promises_something() -> None:
    assert FitOptions(epsilon=fit_options.MAX_EPSILON).epsilon == fit_options.MAX_EPSILON
    for epsilon in (0.0, 2 * fit_options.MAX_EPSILON):
        with pytest.raises(ValidationError):
            FitOptions(epsilon=epsilon)
    for epsilon in (0.0, 2 * describe_options.MAX_EPSILON):
        with pytest.raises(ValidationError):
            DescribeOptions(epsilon=epsilon)


def test_conditions_are_split_where_and_joins_them() -> None:
    assert DescribeOptions.model_validate({"where": "age>=60 and sex=f"}).where == ("age>=60", "sex=f")
