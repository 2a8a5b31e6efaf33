"""The charts, and what they render to."""

import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

CHARTS = Path(__file__).parents[3] / "ostraka" / "deploy" / "helm"
NAMESPACE = "pilot"
GUARDIAN: dict[str, Any] = {"federation": "pilot"}
PARTY: dict[str, Any] = {"federation": "pilot", "site": "alpha", "guardian": "guardian.example:7000"}
RELAY: dict[str, Any] = {"federation": "pilot", "site": "hub"}
NEEDED = {"ostraka-guardian": GUARDIAN, "ostraka-party": PARTY, "ostraka-relay": RELAY}
"""Each chart, with the values that have no defaults in it."""

Manifest = dict[str, Any]


@dataclass(frozen=True)
class Helm:
    """Runs helm, which reads values as YAML from its standard input."""

    program: Path

    def lint(self, chart: str, values: dict[str, Any]) -> str:
        return self._run(["lint", "--strict", str(CHARTS / chart), "--values", "-"], values)

    def render(self, chart: str, **values: Any) -> list[Manifest]:
        """Render the manifests of a release, which is named like the chart without "ostraka-"."""
        release = chart.removeprefix("ostraka-")
        command = ["template", release, str(CHARTS / chart), "--namespace", NAMESPACE, "--values", "-"]
        text = self._run(command, NEEDED[chart] | values)
        return [manifest for manifest in yaml.safe_load_all(text) if manifest]

    def refusal(self, chart: str, values: dict[str, Any]) -> str:
        """Return helm's error message for values that the chart refuses."""
        command = ["template", "release", str(CHARTS / chart), "--values", "-"]
        done = self._call(command, values)
        assert done.returncode == 1
        return done.stderr

    def _run(self, command: list[str], values: dict[str, Any]) -> str:
        done = self._call(command, values)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def _call(self, command: list[str], values: dict[str, Any]) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [str(self.program), *command], input=yaml.safe_dump(values), capture_output=True, text=True
        )


def of_kind(manifests: list[Manifest], kind: str) -> list[Manifest]:
    return [manifest for manifest in manifests if manifest["kind"] == kind]


def the(manifests: list[Manifest], kind: str) -> Manifest:
    (found,) = of_kind(manifests, kind)
    return found


def pod(manifests: list[Manifest]) -> Manifest:
    """Return the pod's specification."""
    spec: Manifest = the(manifests, "StatefulSet")["spec"]["template"]["spec"]
    return spec


def containers(manifests: list[Manifest]) -> list[Manifest]:
    return [*pod(manifests).get("initContainers", []), *pod(manifests)["containers"]]


def mounted(container: Manifest) -> dict[str, str]:
    """Return the names of a container's volumes by mount path."""
    return {mount["mountPath"]: mount["name"] for mount in container["volumeMounts"]}


def volume(manifests: list[Manifest], name: str) -> Manifest:
    (found,) = (volume for volume in pod(manifests)["volumes"] if volume["name"] == name)
    return dict(found)
