"""The party's chart: what it reads, what it keeps, and whom it reaches."""

from pathlib import Path

import pytest

from ostraka.common.config import SITE_FILE, load_section, load_site
from ostraka.common.relay.section import load_relay_section
from ostraka.services.admission.policy import PartyPolicy
from tests.deploy.helm.charts import Helm, containers, mounted, of_kind, pod, the

CHART = "ostraka-party"
GUARDIANS = "a.example:7000, b.example:7000,c.example:7100"


def test_a_party_reads_what_the_values_say(helm: Helm, tmp_path: Path) -> None:
    manifests = helm.render(CHART, guardian=GUARDIANS, settings="[policy]\nmin_parties = 3")
    (tmp_path / SITE_FILE).write_text(the(manifests, "ConfigMap")["data"][SITE_FILE])
    site = load_site(tmp_path)
    assert (site.role, site.site, site.guardian) == ("party", "alpha", GUARDIANS)
    assert site.credentials == Path("/credentials")
    assert load_section(tmp_path, "policy", PartyPolicy).min_parties == 3


def test_what_a_party_keeps_outlives_its_pod_and_has_one_writer(helm: Helm) -> None:
    manifests = helm.render(CHART)
    workload = the(manifests, "StatefulSet")["spec"]
    assert workload["replicas"] == 1
    (claim,) = workload["volumeClaimTemplates"]
    assert claim["spec"]["accessModes"] == ["ReadWriteOnce"]
    assert "storageClassName" not in claim["spec"]
    (container,) = pod(manifests)["containers"]
    assert mounted(container)["/site"] == claim["metadata"]["name"]
    assert mounted(container)["/site/site.toml"] == "config"


def test_a_party_reaches_names_and_the_guardian_and_no_database(helm: Helm) -> None:
    policy = the(helm.render(CHART, guardian=GUARDIANS), "NetworkPolicy")["spec"]
    assert policy["policyTypes"] == ["Ingress", "Egress"]
    ports = [port["port"] for rule in policy["egress"] for port in rule["ports"]]
    assert ports == [53, 53, 7000, 7100]
    assert 5432 not in ports


def test_a_party_reaches_the_given_guardians_only(helm: Helm) -> None:
    guardian = [{"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "guardian"}}}]
    policy = the(helm.render(CHART, networkPolicy={"guardian": guardian}), "NetworkPolicy")["spec"]
    assert policy["egress"][1] == {"ports": [{"protocol": "TCP", "port": 7000}], "to": guardian}


def test_a_gpu_is_asked_for(helm: Helm) -> None:
    resources = {"limits": {"nvidia.com/gpu": 1}}
    manifests = helm.render(CHART, resources=resources, runtimeClassName="nvidia")
    assert pod(manifests)["runtimeClassName"] == "nvidia"
    (party,) = containers(manifests)
    assert party["resources"]["limits"]["nvidia.com/gpu"] == 1


def test_maintenance_serves_nothing_and_is_not_asked_for_its_health(helm: Helm) -> None:
    (waiting,) = pod(helm.render(CHART, maintenance=True))["containers"]
    assert waiting["command"] == ["sleep", "infinity"]
    (serving,) = pod(helm.render(CHART))["containers"]
    assert serving["args"] == ["party", "serve", "--site", "/site"]
    probes = {"startupProbe", "readinessProbe", "livenessProbe"}
    assert probes <= serving.keys()
    assert not probes & waiting.keys()


def test_metrics_stay_off_the_public_service(helm: Helm) -> None:
    services = of_kind(helm.render(CHART), "Service")
    ports = {s["metadata"]["name"]: [port["name"] for port in s["spec"]["ports"]] for s in services}
    assert ports == {"party-pods": ["grpc", "metrics"], "party": ["grpc"]}


@pytest.mark.parametrize(("proxy", "port"), [("", 443), ("http://proxy.example:3128", 3128)])
def test_a_party_behind_a_relay_is_called_by_nobody_and_calls_nothing_else(
    helm: Helm, tmp_path: Path, proxy: str, port: int
) -> None:
    manifests = helm.render(CHART, relay={"address": "relay.example:443", "proxy": proxy})
    (tmp_path / SITE_FILE).write_text(the(manifests, "ConfigMap")["data"][SITE_FILE])
    site = load_site(tmp_path)
    relay = load_relay_section(site)
    assert site.listen == "127.0.0.1:7001"
    assert (relay.address, relay.site, relay.guardian) == ("relay.example:443", "hub", True)
    assert relay.proxy == proxy
    policy = the(manifests, "NetworkPolicy")["spec"]
    assert [one["port"] for rule in policy["egress"] for one in rule["ports"]] == [53, 53, port]
    assert [one["port"] for rule in policy["ingress"] for one in rule["ports"]] == ["metrics"]
    (service,) = of_kind(manifests, "Service")
    assert [one["name"] for one in service["spec"]["ports"]] == ["metrics"]
    (party,) = containers(manifests)
    assert [one["name"] for one in party["ports"]] == ["metrics"]


def test_a_party_behind_a_relay_without_metrics_has_no_service(helm: Helm) -> None:
    manifests = helm.render(CHART, relay={"address": "relay.example:443"}, metrics={"enabled": False})
    assert not of_kind(manifests, "Service")
    assert the(manifests, "NetworkPolicy")["spec"]["ingress"] == []
