"""The noise source that a guardian's site.toml names, tested before the guardian serves."""

from __future__ import annotations

from ostraka.common.config import NoiseName
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.noise.exact_noise import ExactNoise
from ostraka.common.noise.self_test import check_known_answers, check_source
from ostraka.common.noise.source import NoiseSource


def open_noise(name: NoiseName) -> NoiseSource:
    """Return the noise source called `name` after it has passed its self-test.

    Raises:
        OstrakaError: `noise.self_test`; `config.invalid` if OpenDP is not installed.
    """
    if name == "opendp":
        source = _opendp()
    else:
        check_known_answers()
        source = ExactNoise()
    check_source(source)
    return source


def _opendp() -> NoiseSource:
    try:
        from ostraka.guardian.noise.opendp_noise import OpenDpNoise
    except ModuleNotFoundError as exc:
        raise OstrakaError(
            ErrorCode.CONFIG_INVALID,
            'noise = "opendp" in site.toml needs OpenDP, which is not installed: run pip install '
            "'ostraka[opendp]', or leave the line out.",
        ) from exc
    return OpenDpNoise()
