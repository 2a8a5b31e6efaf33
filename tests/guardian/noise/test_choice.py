"""What site.toml names draws the noise, after its self-test."""

import sys

import pytest

from ostraka.common.config import NoiseName
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.guardian.noise import ExactNoise, choice, open_noise
from ostraka.guardian.noise.opendp_noise import OpenDpNoise

OPENDP = "ostraka.guardian.noise.opendp_noise"


@pytest.mark.parametrize(
    ("name", "kind"), [("ostraka", ExactNoise), pytest.param("opendp", OpenDpNoise, marks=pytest.mark.heavy)]
)
def test_what_is_named_passes_its_test(name: NoiseName, kind: type[object]) -> None:
    assert isinstance(open_noise(name), kind)


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
