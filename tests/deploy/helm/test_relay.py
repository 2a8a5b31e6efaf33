"""The relay's chart: what it reads, and whom it reaches."""

from pathlib import Path

from ostraka.common.config import SITE_FILE, load_site
from ostraka.relay.section import load_server_section
from tests.deploy.helm.charts import Helm, mounted, of_kind, pod, the

CHART = "ostraka-relay"
REACH = {"guardian": "guardian.example:7000", "trustee": "trustee.example:7100"}


def test_a_relay_reads_what_the_values_say(helm: Helm, tmp_path: Path) -> None:
    manifests = helm.render(CHART, reach=REACH)
    (tmp_path / SITE_FILE).write_text(the(manifests, "ConfigMap")["data"][SITE_FILE])
    site = load_site(tmp_path)
    assert (site.role, site.site, site.listen) == ("relay", "hub", "0.0.0.0:7443")
    assert load_server_section(site).reach == REACH


def test_a_relay_reaches_names_and_the_guardians_that_it_passes_on_to(helm: Helm) -> None:
    for reach, ports in ((REACH, [53, 53, 7000, 7100]), ({}, [53, 53])):
        policy = the(helm.render(CHART, reach=reach), "NetworkPolicy")["spec"]
        assert [one["port"] for rule in policy["egress"] for one in rule["ports"]] == ports


def test_a_relay_keeps_nothing_and_is_reached_at_443(helm: Helm) -> None:
    manifests = helm.render(CHART)
    assert "volumeClaimTemplates" not in the(manifests, "StatefulSet")["spec"]
    (relay,) = pod(manifests)["containers"]
    assert relay["args"] == ["relay", "serve", "--site", "/site"]
    assert mounted(relay)["/site/site.toml"] == "config"
    services = {one["metadata"]["name"]: one["spec"]["ports"] for one in of_kind(manifests, "Service")}
    assert services["relay"] == [{"name": "grpc", "port": 443, "targetPort": "grpc"}]
