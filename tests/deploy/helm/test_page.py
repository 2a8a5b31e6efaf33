"""What docs/kubernetes.md shows is so: kits, Secrets, values of releases, and what they render to."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from ostraka.common.clock import SystemClock
from tests.deploy.helm.charts import CHARTS, Helm, containers, mounted, the
from tests.deploy.provisioning.kits import make_sites

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "kubernetes.md").read_text()
COMMANDS = re.sub(r" *\\\n *", " ", "\n".join(re.findall(r"```sh\n(.*?)```", PAGE, re.S)))
GUARDIAN: dict[str, Any] = yaml.safe_load((CHARTS / "ostraka-guardian" / "values.yaml").read_text())


def secret_files(name: str) -> list[str]:
    """Return the files from which the page makes a Secret."""
    (command,) = re.findall(rf"(?m)^kubectl .* create secret generic {name} .*$", COMMANDS)
    return re.findall(r"--from-file=(\S+)", command)


def test_the_credentials_are_files_of_an_installed_kit(tmp_path: Path) -> None:
    sites = make_sites(tmp_path, SystemClock())
    sites.join("hub-guardian")
    named = secret_files(GUARDIAN["credentialsSecret"])
    assert all((sites["hub-guardian"] / file).is_file() for file in named)
    keys = {Path(file).name for file in named}
    assert keys == {"ca.crt", "crl.pem", "tls.crt", "tls.key", "signing.crt", "signing.key"}


def test_the_kit_is_that_of_the_charts_site() -> None:
    (kit,) = re.findall(r"(?m)^cd kits/(\S+)$", COMMANDS)
    assert kit == f"{GUARDIAN['site']}-guardian"


def test_ledger_and_database_have_the_secrets_that_pods_read() -> None:
    assert secret_files(GUARDIAN["ledgerSecret"]) == ["ledger.key"]
    assert secret_files(GUARDIAN["databaseSecret"]) == ["url"]


@pytest.mark.parametrize(
    ("release", "chart", "example"),
    [("guardian", "ostraka-guardian", "guardian.yaml"), ("alpha", "ostraka-party", "party.yaml")],
)
def test_the_values_are_those_of_the_examples_and_render(
    helm: Helm, release: str, chart: str, example: str
) -> None:
    (shown,) = re.findall(rf"```yaml\n# {release}\.yaml\n(.*?)```", PAGE, re.S)
    values = yaml.safe_load(shown)
    assert values == yaml.safe_load((ROOT / "examples" / "kubernetes" / example).read_text())
    assert f"helm install {release} deploy/helm/{chart} " in COMMANDS
    manifests = helm.render(chart, **values)
    assert the(manifests, "StatefulSet")["spec"]["replicas"] == values.get("replicas", 1)
    assert "/site" in mounted(containers(manifests)[-1])


def test_new_teachers_are_as_many_as_the_first() -> None:
    """Else the manifest changes, and open sessions go on without the party."""
    trained = re.findall(r"ostraka party train (.*)", COMMANDS)
    assert [re.findall(r"--teachers \d+", words) for words in trained] == [["--teachers 20"]] * 2
