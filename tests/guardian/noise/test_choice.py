"""What site.toml names draws the noise, after its self-test."""

import sys

import pytest

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.guardian.noise import ExactNoise, choice, open_noise
from ostraka.guardian.noise.opendp_noise import OpenDpNoise

OPENDP = "ostraka.guardian.noise.opendp_noise"


def test_ours_and_opendps_pass_their_tests() -> None:
    assert isinstance(open_noise("ostraka"), ExactNoise)
    assert isinstance(open_noise("opendp"), OpenDpNoise)


def test_without_opendp_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, OPENDP)
    monkeypatch.setitem(sys.modules, "opendp.domains", None)
    with pytest.raises(OstrakaError, match=r"pip install 'ostraka\[opendp\]'") as refused:
        open_noise("opendp")
    assert refused.value.code == ErrorCode.CONFIG_INVALID


@pytest.mark.parametrize("check", ["check_known_answers", "check_source"])
def test_a_sampler_that_fails_is_not_returned(monkeypatch: pytest.MonkeyPatch, check: str) -> None:
    def fail(*_: object) -> None:
        raise OstrakaError(ErrorCode.NOISE_SELF_TEST, "It draws wrong.")

    monkeypatch.setattr(choice, check, fail)
    with pytest.raises(OstrakaError, match="draws wrong"):
        open_noise("ostraka")
