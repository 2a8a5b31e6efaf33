"""Everything that names the version of this release names the same."""

import re
from pathlib import Path

import pytest
import yaml

from ostraka import __version__
from ostraka.deploy.images.locks import ROOT

CHARTS = sorted((ROOT / "ostraka" / "deploy" / "helm").glob("*/Chart.yaml"))
COMPOSED = [ROOT / "docker-compose.yml", ROOT / "ostraka" / "deploy" / "compose.gpu.yml"]


@pytest.mark.parametrize("chart", CHARTS, ids=lambda chart: chart.parent.name)
def test_charts_are_of_this_version(chart: Path) -> None:
    stated = yaml.safe_load(chart.read_text(encoding="utf-8"))
    assert (stated["version"], stated["appVersion"]) == (__version__, __version__)


@pytest.mark.parametrize("file", COMPOSED, ids=lambda file: file.name)
def test_compose_files_start_images_of_this_version(file: Path) -> None:
    named = re.findall(r"OSTRAKA_VERSION:-([^}]+)}", file.read_text(encoding="utf-8"))
    assert set(named) == {__version__}


def test_pages_name_files_of_this_version() -> None:
    pages = (ROOT / page for page in ("RELEASING.md", "docs/installation.md"))
    named = {found for page in pages for found in re.findall(r"ostraka-([\d.]+)-py3", page.read_text())}
    assert named == {__version__}
