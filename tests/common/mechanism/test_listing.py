"""What is listed of mechanisms."""

import pytest

from ostraka.common.mechanism import MECHANISMS, GnMax, Powerset, labelling, mechanism_names
from ostraka.common.mechanism.listing import describe, list_mechanisms
from ostraka.common.mechanism.mechanism import INSTALLED_MECHANISMS
from tests.common.mechanism.test_installed import Install, install

__all__ = ["install"]


SUMS = [kind for kind, known in MECHANISMS.items() if known.sums_records]


@pytest.mark.parametrize("kind", [*labelling(), *SUMS])
def test_every_mechanism_describes_itself(kind: str) -> None:
    listed = describe(kind, MECHANISMS[kind])
    assert listed.meaning
    assert listed.charged_as
    assert all(parameter.meaning for parameter in listed.parameters)


def test_parameters_have_their_defaults_and_say_whether_they_are_needed() -> None:
    class Quiet(GnMax):
        """Release little.

        At any cost.
        """

        sigma: float = 9.0

    listed = describe("quiet", Quiet)
    assert (listed.meaning, listed.charged_as) == ("Release little.", GnMax.charged_as)
    assert [(one.name, one.required, one.default) for one in listed.parameters] == [("sigma", False, 9.0)]
    found = [(one.name, one.required) for one in describe("powerset", Powerset).parameters]
    assert found == [
        ("sigma", True),
        ("check.sigma", False),
        ("check.threshold", False),
        ("max_positives", False),
    ]


def test_installed_mechanisms_are_listed_and_a_broken_one_hides_no_other(install: Install) -> None:
    install("toy", "noisy_max = toy:NoisyMax", "noisy_max = toy_rule:NoisyMaxRule")
    install("worse", "worse_max = nowhere:NoisyMax")
    assert mechanism_names()[-2:] == ["noisy_max", "worse_max"]
    listed = list(list_mechanisms())
    assert [one.name for one in listed if one.releases == "sums"] == SUMS
    *own, good, bad = listed[: -len(SUMS)]
    assert [one.name for one in own] == list(labelling())[: len(own)]
    assert (good.name, good.problem, good.parameters[0].name) == ("noisy_max", None, "scale")
    assert bad.problem is not None
    assert "cannot be imported" in bad.problem
    assert INSTALLED_MECHANISMS in bad.problem
