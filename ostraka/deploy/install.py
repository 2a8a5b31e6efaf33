"""Install this clone, with one of its extras, into the environment of the running Python; with uv.

`make install` and `make demo` run it before anything is installed, so it imports only the standard library.
Modules are compiled at their first import: compiling all at once would take longer than everything else.
"""

import ast
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import urlopen

ROOT = Path(__file__).parents[2]
PYPI = "https://pypi.org/simple"
TORCH_CPU_INDEX = "https://download.pytorch.org/whl/cpu"
"""Index with torch without CUDA; PyPI's torch on Linux includes CUDA, which takes 5 GB."""
VARIABLES = {
    "index-url": "UV_DEFAULT_INDEX",
    "extra-index-url": "UV_INDEX",
    "find-links": "UV_FIND_LINKS",
    "no-index": "UV_NO_INDEX",
    "constraint": "UV_CONSTRAINT",
    "trusted-host": "UV_INSECURE_HOST",
    "cert": "SSL_CERT_FILE",
    "proxy": "ALL_PROXY",
}
"""pip's settings for finding packages, with uv's variables for them: uv reads none of pip's."""
SLOW_LINE_S = 10.0
"""Seconds within which a reachable index answers, even over a slow line."""


def main(extra: str) -> int:
    """Install and report progress; return the exit status."""
    uv, *also = (_requirement(name) for name in ("uv", "torch", "mpmath"))
    if find_spec("uv") is None:
        _say(f"Fetching {uv}, which installs the rest.")
        if _fails("pip", "install", "--quiet", "--disable-pip-version-check", "--retries", "1", uv):
            return 1
    _say(f"Installing what the extra '{extra}' in pyproject.toml names, with uv.")
    python = ("--python", sys.executable)
    if _fails("uv", "pip", "install", *python, "--editable", f"{ROOT}[{extra}]", *also):
        return 1
    _say(f"Installed in {sys.prefix}.")
    return 0


def uv_settings(pip: Mapping[str, str], environment: Mapping[str, str]) -> dict[str, str]:
    """Return pip's settings as variables of uv; variables of the environment override them.

    If neither names an index or wheels, torch is the build for CPUs, or comes from the index `TORCH_INDEX`.
    """
    found = {VARIABLES[name]: value for name, value in pip.items() if name in VARIABLES}
    for variable in ("UV_FIND_LINKS", "UV_CONSTRAINT"):
        if variable in found:
            found[variable] = (",", " ")[variable == "UV_CONSTRAINT"].join(found[variable].split())
    own = {"UV_DEFAULT_INDEX", "UV_INDEX", "UV_FIND_LINKS", "UV_NO_INDEX"} & {*found, *environment}
    torch = environment.get("TORCH_INDEX", "" if own else TORCH_CPU_INDEX)
    if torch:
        found["UV_INDEX"] = f"{found.get('UV_INDEX', '')} {torch}".strip()
    # As pip chooses: the newest version of all indexes, not the first index with the name.
    found["UV_INDEX_STRATEGY"] = "unsafe-best-match"
    # Some packages of OpenTelemetry have only pre-releases so far.
    found["UV_PRERELEASE"] = "if-necessary"
    return {variable: value for variable, value in found.items() if variable not in environment}


def pip_settings() -> dict[str, str]:
    """Return pip's settings by name: its variables override its files, and `install` settings others."""
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "config", "list"]
    listed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    scopes: dict[str, dict[str, str]] = {"global": {}, "install": {}, ":env:": {}}
    for line in listed.splitlines():
        setting, _, value = line.partition("=")
        scope, _, name = setting.rpartition(".")
        if scope in scopes:
            scopes[scope][name] = ast.literal_eval(value)
    return scopes["global"] | scopes["install"] | scopes[":env:"]


def _fails(module: str, *arguments: str) -> bool:
    """Whether a module's command fails; if no index is reachable, say so."""
    settings = uv_settings(pip_settings(), os.environ) if module == "uv" else {}
    ran = subprocess.run([sys.executable, "-m", module, *arguments], env=os.environ | settings, check=False)
    if ran.returncode and not _answers(index := pip_settings().get("index-url", PYPI)):
        _say(
            f"This machine cannot reach the package index {index}: connect it, or name a mirror, as in "
            "PIP_INDEX_URL=https://mirror.example/simple make install. What was fetched is kept."
        )
    return ran.returncode != 0


def _answers(index: str) -> bool:
    try:
        with urlopen(index, timeout=SLOW_LINE_S):  # noqa: S310
            return True
    except HTTPError:
        return True
    except OSError:
        return False


def _requirement(name: str) -> str:
    """Return the requirement of a package in the extra `dev`.

    It includes the torch of every clone, and the mpmath without which uv would take a pre-release of sympy.
    """
    stated = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    named: list[str] = stated["project"]["optional-dependencies"]["dev"]
    return next(one for one in named if re.match(rf"{name}\b", one))


def _say(sentence: str) -> None:
    print(sentence, flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
