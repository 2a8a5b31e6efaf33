"""Packages that are not installed, and the extras of Ostraka that bring them."""

import re
from importlib.metadata import requires

from ostraka.common.errors import ErrorCode, OstrakaError

_OURS = "ostraka"
_DISTRIBUTIONS = {"nacl": "pynacl", "sklearn": "scikit-learn"}
"""Packages whose distributions have other names."""


def missing_package(error: ModuleNotFoundError) -> OstrakaError | None:
    """Return `config.invalid`, which names the extras that bring a package; None where none brings it."""
    package = (error.name or "").partition(".")[0]
    extras = _bringing(_DISTRIBUTIONS.get(package, package.replace("_", "-")))
    if not extras:
        return None
    commands = " or ".join(f"pip install 'ostraka[{extra}]'" for extra in extras)
    return OstrakaError(
        ErrorCode.CONFIG_INVALID, f"This needs {package}, which is not installed; run {commands}."
    )


def _bringing(distribution: str) -> list[str]:
    """Return the extras that name a distribution."""
    stated = re.compile(rf"{re.escape(distribution)}(?![\w.-]).*extra == ['\"](\w+)['\"]")
    found = [matched[1] for line in requires(_OURS) or () if (matched := stated.match(line))]
    return [extra for extra in found if extra != "dev"] if distribution != _OURS else []
