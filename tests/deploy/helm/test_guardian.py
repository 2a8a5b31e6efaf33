"""The guardian's chart: replicas that callers can tell apart, and who reaches whom."""

from pathlib import Path
from typing import Any

import pytest

from ostraka.common.config import SITE_FILE, load_site
from ostraka.guardian.ledger.site import ledger_address
from ostraka.guardian.policy import load_policy
from tests.deploy.helm.charts import Helm, containers, mounted, of_kind, pod, the, volume

CHART = "ostraka-guardian"
PUBLIC = ["a.example:7000", "b.example:7000", "c.example:8000"]


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({}, ["guardian-0.pilot.svc:7000", "guardian-1.pilot.svc:7000"]),
        ({"replicas": 3, "addresses": PUBLIC}, PUBLIC),
    ],
)
def test_every_replica_reads_its_own_address(
    helm: Helm, tmp_path: Path, values: dict[str, Any], expected: list[str]
) -> None:
    manifests = helm.render(CHART, settings="[policy]\nmin_quorum = 3", **values)
    files = the(manifests, "ConfigMap")["data"]
    assert list(files) == [f"guardian-{number}.toml" for number in range(len(expected))]
    for text, address in zip(files.values(), expected, strict=True):
        (tmp_path / SITE_FILE).write_text(text)
        site = load_site(tmp_path)
        assert (site.role, site.federation, site.site) == ("guardian", "pilot", "guardian")
        assert ledger_address(tmp_path, site.listen) == address
        assert load_policy(tmp_path).min_quorum == 3
    (server,) = pod(manifests)["containers"]
    (config,) = (mount for mount in server["volumeMounts"] if mount["name"] == "config")
    assert (config["mountPath"], config["subPathExpr"]) == ("/site/site.toml", "$(POD_NAME).toml")
    (named,) = server["env"]
    assert named == {"name": "POD_NAME", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}


def test_the_ledgers_key_lies_in_memory(helm: Helm) -> None:
    manifests = helm.render(CHART)
    first, server = containers(manifests)
    assert first["command"] == ["install", "--mode=0600", "--target-directory=/site", "/ledger/ledger.key"]
    assert mounted(first)["/site"] == mounted(server)["/site"]
    assert volume(manifests, mounted(server)["/site"])["emptyDir"]["medium"] == "Memory"
    assert volume(manifests, mounted(first)["/ledger"])["secret"]["secretName"] == "guardian-ledger"
    assert "/ledger" not in mounted(server)


def test_every_replica_has_a_service_of_its_own(helm: Helm) -> None:
    manifests = helm.render(CHART, replicas=3)
    workload = the(manifests, "StatefulSet")
    assert workload["spec"]["replicas"] == 3
    own = [service for service in of_kind(manifests, "Service") if service["spec"].get("clusterIP") != "None"]
    names = [f"{workload['metadata']['name']}-{number}" for number in range(3)]
    assert [service["metadata"]["name"] for service in own] == names
    selectors = [service["spec"]["selector"] for service in own]
    assert [selector.pop("statefulset.kubernetes.io/pod-name") for selector in selectors] == names
    assert all(selector == workload["spec"]["selector"]["matchLabels"] for selector in selectors)


def test_public_services_show_no_metrics(helm: Helm) -> None:
    manifests = helm.render(
        CHART, service={"type": "LoadBalancer"}, networkPolicy={"cidrs": ["198.51.100.0/24"]}
    )
    public = [s for s in of_kind(manifests, "Service") if s["spec"].get("type") == "LoadBalancer"]
    assert len(public) == 2
    assert all([port["name"] for port in service["spec"]["ports"]] == ["grpc"] for service in public)


def test_replicas_are_kept_apart_and_are_not_all_away_at_once(helm: Helm) -> None:
    manifests = helm.render(CHART)
    labels = the(manifests, "StatefulSet")["spec"]["template"]["metadata"]["labels"]
    terms = pod(manifests)["affinity"]["podAntiAffinity"]["preferredDuringSchedulingIgnoredDuringExecution"]
    assert [term["podAffinityTerm"]["topologyKey"] for term in terms] == [
        "kubernetes.io/hostname",
        "topology.kubernetes.io/zone",
    ]
    assert all(term["podAffinityTerm"]["labelSelector"]["matchLabels"] == labels for term in terms)
    budget = the(manifests, "PodDisruptionBudget")["spec"]
    assert (budget["maxUnavailable"], budget["selector"]["matchLabels"]) == (1, labels)


def test_callers_come_in_and_only_the_database_is_reached(helm: Helm) -> None:
    database = [{"podSelector": {"matchLabels": {"app": "postgres"}}}]
    callers = [{"ipBlock": {"cidr": "192.0.2.0/24"}}]
    manifests = helm.render(CHART, networkPolicy={"callers": callers, "database": database})
    policy = the(manifests, "NetworkPolicy")["spec"]
    assert policy["podSelector"] == the(manifests, "StatefulSet")["spec"]["selector"]
    assert policy["policyTypes"] == ["Ingress", "Egress"]
    assert policy["ingress"][0] == {"ports": [{"protocol": "TCP", "port": "grpc"}], "from": callers}
    names, stored = policy["egress"]
    assert {port["port"] for port in names["ports"]} == {53}
    assert stored == {"ports": [{"protocol": "TCP", "port": 5432}], "to": database}
