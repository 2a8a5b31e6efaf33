"""Wrong values: refused by the chart, and by name."""

from typing import Any

import pytest

from tests.deploy.helm.charts import NEEDED, Helm

WRONG: list[tuple[str, dict[str, Any], str]] = [
    ("ostraka-guardian", {"federation": None}, "missing property 'federation'"),
    ("ostraka-guardian", {"replica": 3}, "additional properties 'replica' not allowed"),
    ("ostraka-guardian", {"replicas": 0}, "'/replicas': minimum: got 0, want 1"),
    ("ostraka-guardian", {"replicas": "two"}, "'/replicas': got string, want integer"),
    (
        "ostraka-guardian",
        {"addresses": ["guardian.example"]},
        "'/addresses/0': 'guardian.example' does not match",
    ),
    ("ostraka-guardian", {"addresses": ["a:1", "a:1"]}, "'/addresses': items at 0 and 1 are equal"),
    (
        "ostraka-guardian",
        {"addresses": ["a:1"]},
        "replicas is 2, and the number of addresses is 1; give one to each, or none.",
    ),
    ("ostraka-guardian", {"metrics": {"enabled": "yes"}}, "'/metrics/enabled': got string, want boolean"),
    ("ostraka-guardian", {"service": {"type": "Ingress"}}, "'/service/type': value must be one of"),
    (
        "ostraka-guardian",
        {"databaseSecret": {"url": "postgresql://"}},
        "'/databaseSecret': got object, want string",
    ),
    ("ostraka-guardian", {"networkPolicy": {"cidrs": ["everywhere"]}}, "'/networkPolicy/cidrs/0'"),
    (
        "ostraka-guardian",
        {"service": {"type": "LoadBalancer"}},
        "service.type LoadBalancer is for callers outside the cluster: name their networks in",
    ),
    (
        "ostraka-party",
        {"service": {"type": "NodePort"}},
        "service.type NodePort is for callers outside the cluster: name their networks in",
    ),
    ("ostraka-party", {"guardian": None}, "missing property 'guardian'"),
    ("ostraka-party", {"guardian": "guardian.example"}, "'/guardian': 'guardian.example' does not match"),
    ("ostraka-party", {"site": "St Mary"}, "'/site': 'St Mary' does not match"),
    ("ostraka-party", {"storage": {"size": "many"}}, "'/storage/size': 'many' does not match"),
    ("ostraka-party", {"relay": {"address": "relay.example"}}, "'/relay/address': 'relay.example' does not"),
    (
        "ostraka-party",
        {"relay": {"proxy": "http://u:p@proxy:3128"}},
        "'/relay/proxy': 'http://u:p@proxy:3128'",
    ),
    ("ostraka-relay", {"reach": {"guardian": "a.example"}}, "'/reach/guardian': 'a.example' does not match"),
    ("ostraka-party", {"replicas": 2}, "additional properties 'replicas' not allowed"),
]


@pytest.mark.parametrize(("chart", "wrong", "said"), WRONG)
def test_wrong_values_are_refused_by_name(helm: Helm, chart: str, wrong: dict[str, Any], said: str) -> None:
    values = {key: value for key, value in (NEEDED[chart] | wrong).items() if value is not None}
    assert said in helm.refusal(chart, values)
