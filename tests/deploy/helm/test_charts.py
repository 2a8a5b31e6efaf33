"""All charts: what every release must have, whatever the values."""

import json
from importlib.metadata import version
from typing import Any

import pytest
import yaml

from ostraka.common.rpc.serving import DRAIN_S
from tests.deploy.helm.charts import CHARTS, NEEDED, Helm, containers, mounted, of_kind, pod, the, volume

PEERS = [{"ipBlock": {"cidr": "10.0.0.0/8"}}, {"namespaceSelector": {"matchLabels": {"a": "b"}}}]
COMMON: dict[str, Any] = {
    "service": {"type": "LoadBalancer", "annotations": {"example.com/public": "true"}},
    "settings": "[policy]\nmin_quorum = 3\n",
    "image": {"repository": "registry.example/ostraka", "tag": "1.2.3", "pullPolicy": "Always"},
    "imagePullSecrets": ["registry"],
    "metrics": {"enabled": True, "namespace": "watching", "serviceMonitor": True},
    "networkPolicy": {"callers": PEERS, "cidrs": ["198.51.100.0/24", "2001:db8::/32"]},
    "nodeSelector": {"disk": "fast"},
    "tolerations": [{"key": "gpu", "operator": "Exists"}],
}
RELEASES = [
    ("ostraka-guardian", {}),
    ("ostraka-guardian", {"replicas": 1, "metrics": {"enabled": False}}),
    ("ostraka-guardian", COMMON | {"addresses": ["a.example:7000", "b.example:7001"]}),
    ("ostraka-party", {}),
    ("ostraka-party", {"maintenance": True, "metrics": {"enabled": False}}),
    (
        "ostraka-party",
        COMMON
        | {
            "guardian": "a.example:7000, b.example:7001",
            "storage": {"size": "1Ti", "className": "fast"},
            "resources": {"limits": {"nvidia.com/gpu": 1}},
            "runtimeClassName": "nvidia",
        },
    ),
    ("ostraka-party", {"relay": {"address": "relay.example:443"}}),
    ("ostraka-party", {"relay": {"address": "relay.example:443"}, "metrics": {"enabled": False}}),
    ("ostraka-relay", {}),
    ("ostraka-relay", COMMON | {"settings": "", "reach": {"guardian": "a.example:7000"}}),
]
KUBERNETES = ["1.27", "1.37"]
"""The oldest version that the charts name, and the newest whose schemas are at hand."""
every_release = pytest.mark.parametrize(("chart", "values"), RELEASES)
every_chart = pytest.mark.parametrize("chart", NEEDED)


@pytest.mark.heavy
@every_release
def test_helm_finds_nothing_wrong(helm: Helm, chart: str, values: dict[str, Any]) -> None:
    assert "0 chart(s) failed" in helm.lint(chart, NEEDED[chart] | values)


@pytest.mark.heavy
@every_release
def test_manifests_are_what_kubernetes_expects(helm: Helm, chart: str, values: dict[str, Any]) -> None:
    import kubernetes_validate  # its schemas take seconds

    manifests = helm.render(chart, **values)
    monitors = of_kind(manifests, "ServiceMonitor")
    assert bool(monitors) == values.get("metrics", {}).get("serviceMonitor", False)
    for manifest in manifests:
        for kubernetes in KUBERNETES:
            if manifest not in monitors:
                kubernetes_validate.validate(manifest, kubernetes, strict=True)


@every_chart
def test_a_key_that_kubernetes_does_not_know_is_found(helm: Helm, chart: str) -> None:
    import kubernetes_validate

    broken = the(helm.render(chart), "StatefulSet")
    broken["spec"]["template"]["spec"]["containers"][0]["readOnly"] = True
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(broken, KUBERNETES[-1], strict=True)


@every_release
def test_containers_are_confined(helm: Helm, chart: str, values: dict[str, Any]) -> None:
    manifests = helm.render(chart, **values)
    assert pod(manifests)["automountServiceAccountToken"] is False
    assert pod(manifests)["securityContext"] | {"fsGroupChangePolicy": ""} == {
        "runAsNonRoot": True,
        "runAsUser": 10001,
        "runAsGroup": 10001,
        "fsGroup": 10001,
        "fsGroupChangePolicy": "",
        "seccompProfile": {"type": "RuntimeDefault"},
    }
    for container in containers(manifests):
        assert container["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        }
        assert "limits" in container["resources"]


@every_chart
def test_secrets_are_named_and_never_rendered(helm: Helm, chart: str) -> None:
    manifests = helm.render(chart)
    assert not of_kind(manifests, "Secret")
    config = json.dumps(the(manifests, "ConfigMap"))
    assert not any(word in config for word in ("PRIVATE", "password", "postgresql", ".key"))
    for container in containers(manifests):
        assert all("fieldRef" in variable["valueFrom"] for variable in container.get("env", []))


@every_chart
def test_a_server_reads_its_keys_from_a_secret_that_it_cannot_write(helm: Helm, chart: str) -> None:
    manifests = helm.render(chart, credentialsSecret="made-before")
    (server,) = pod(manifests)["containers"]
    name = mounted(server)["/credentials"]
    assert volume(manifests, name)["secret"] == {"secretName": "made-before", "defaultMode": 0o440}
    assert next(mount for mount in server["volumeMounts"] if mount["name"] == name)["readOnly"]


@every_chart
def test_kubernetes_waits_until_a_server_has_drained(helm: Helm, chart: str) -> None:
    assert pod(helm.render(chart))["terminationGracePeriodSeconds"] > 2 * DRAIN_S


@every_chart
def test_metrics_are_for_one_namespace(helm: Helm, chart: str) -> None:
    policy = the(helm.render(chart, metrics={"namespace": "watching"}), "NetworkPolicy")["spec"]
    (rule,) = (
        rule for rule in policy["ingress"] if rule["ports"] == [{"protocol": "TCP", "port": "metrics"}]
    )
    assert rule["from"] == [
        {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "watching"}}}
    ]


@every_chart
@pytest.mark.parametrize(
    ("named", "allowed"),
    [
        ({}, [{"podSelector": {}}]),
        ({"callers": PEERS}, PEERS),
        ({"cidrs": ["198.51.100.0/24"]}, [{"ipBlock": {"cidr": "198.51.100.0/24"}}]),
        ({"callers": PEERS, "cidrs": ["::1/128"]}, [*PEERS, {"ipBlock": {"cidr": "::1/128"}}]),
    ],
    ids=["nobody", "peers", "networks", "both"],
)
def test_callers_are_those_named_or_of_the_namespace(
    helm: Helm, chart: str, named: dict[str, Any], allowed: list[Any]
) -> None:
    policy = the(helm.render(chart, networkPolicy=named), "NetworkPolicy")["spec"]
    assert policy["ingress"][0] == {"ports": [{"protocol": "TCP", "port": "grpc"}], "from": allowed}


@every_chart
def test_callers_outside_come_by_their_own_addresses_from_named_networks(helm: Helm, chart: str) -> None:
    networks = ["198.51.100.0/24"]
    public = {"service": {"type": "LoadBalancer"}, "networkPolicy": {"cidrs": networks}}
    specs = [service["spec"] for service in of_kind(helm.render(chart, **public), "Service")]
    balanced = [spec for spec in specs if spec.get("type") == "LoadBalancer"]
    assert balanced
    for spec in balanced:
        assert (spec["externalTrafficPolicy"], spec["loadBalancerSourceRanges"]) == ("Local", networks)
    for service in of_kind(helm.render(chart), "Service"):
        assert not {"externalTrafficPolicy", "loadBalancerSourceRanges"} & set(service["spec"])


@every_chart
def test_a_chart_is_of_this_version_of_ostraka(chart: str) -> None:
    described = yaml.safe_load((CHARTS / chart / "Chart.yaml").read_text())
    assert described["version"] == described["appVersion"] == version("ostraka")
