"""Dashboard and alerts name metrics that there are, and queries that Prometheus understands."""

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from prometheus_client import CollectorRegistry, Metric

from ostraka.relay.metrics import RelayMetrics
from tests.deploy.monitoring.observed import Observed

ROOT = Path(__file__).parents[3]
DEPLOY = ROOT / "ostraka" / "deploy"
DASHBOARD = DEPLOY / "grafana" / "dashboards" / "ostraka.json"
RULES = DEPLOY / "prometheus" / "rules.yml"
OF_NETWORKS = {
    *("ostraka_party_device_micro_batch", "ostraka_party_gpu_memory_bytes", "ostraka_party_gpu_busy_ratio"),
}
"""Told where teachers are networks, and of GPUs."""
BEHIND_A_RELAY = {"ostraka_relay_attached"}


def expressions() -> list[str]:
    """Every query of the dashboard and the alerts."""
    panels = json.loads(DASHBOARD.read_text())["panels"]
    shown = [target["expr"] for panel in panels for target in panel.get("targets", ())]
    rules = [rule["expr"] for group in yaml.safe_load(RULES.read_text())["groups"] for rule in group["rules"]]
    return shown + rules


def named() -> set[str]:
    return {name for query in expressions() for name in re.findall(r"\bostraka_\w+", query)}


@pytest.fixture(scope="module")
def there(tmp_path_factory: pytest.TempPathFactory, agreeing: dict[str, Path]) -> set[str]:
    """Names of every role's samples after a session."""
    observed = Observed(tmp_path_factory.mktemp("there"))
    with observed.serving(agreeing) as (_, registries):
        observed.label(registries)
        metrics = [metric for registry in registries.values() for metric in registry.collect()]
        metrics += relay_metrics()
        return {sample.name for metric in metrics for sample in metric.samples}


def relay_metrics() -> list[Metric]:
    """Return what a relay tells once it passed on, and refused, a connection."""
    registry = CollectorRegistry()
    metrics = RelayMetrics(registry)
    metrics.watch(lambda: 1, lambda: 1)
    metrics.count_passed_on("party")
    metrics.refuse("relay.quota")
    return list(registry.collect())


def test_every_metric_named_is_there(there: set[str]) -> None:
    assert named() - OF_NETWORKS - BEHIND_A_RELAY <= there


def test_every_metric_there_is_on_the_dashboard_or_in_the_documentation(there: set[str]) -> None:
    page = (ROOT / "docs" / "monitoring.md").read_text()
    own = {
        re.sub(r"_(bucket|sum|count|total|info|created)$", "", name) for name in there if "ostraka" in name
    }
    assert [name for name in sorted(own) if name not in page] == []


def test_panels_do_not_overlap_and_have_ids_of_their_own() -> None:
    panels = json.loads(DASHBOARD.read_text())["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)
    taken = [cell for panel in panels for cell in _cells(panel["gridPos"])]
    assert len(set(taken)) == len(taken)


def test_the_data_source_is_the_one_provisioned() -> None:
    (source,) = yaml.safe_load((DEPLOY / "grafana/provisioning/datasources/prometheus.yml").read_text())[
        "datasources"
    ]
    panels = json.loads(DASHBOARD.read_text())["panels"]
    assert {panel["datasource"]["uid"] for panel in panels if panel["type"] != "row"} == {source["uid"]}


def test_prometheus_takes_configuration_and_rules() -> None:
    promtool = shutil.which("promtool")
    if promtool is None:
        pytest.skip("promtool is not installed: apt-get install prometheus")
    for what, file in (("config", "prometheus.yml"), ("rules", "rules.yml")):
        found = subprocess.run([promtool, "check", what, DEPLOY / "prometheus" / file], capture_output=True)
        assert found.returncode == 0, found.stdout + found.stderr


def _cells(at: dict[str, Any]) -> Iterator[tuple[int, int]]:
    for x in range(at["x"], at["x"] + at["w"]):
        for y in range(at["y"], at["y"] + at["h"]):
            yield x, y
