"""The mechanism of examples/noisy_max, registered, labels through a real guardian and real parties."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from noisy_max import NoisyMax
from noisy_max_rule import NoisyMaxRule

import ostraka.common.mechanism
import ostraka.guardian.mechanisms
from ostraka.client.session.run_state import load_state
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.mechanism import MECHANISMS, GnMax, labelling
from ostraka.common.mechanism.arguments import make_mechanism
from ostraka.common.mechanism.message import mechanism_message, mechanism_of
from ostraka.common.privacy import epsilon
from ostraka.guardian.admin.client import admin_call
from ostraka.guardian.mechanisms import RULES
from ostraka.guardian.policy import Policy
from ostraka.guardian.sessions.policy_checks import check_policy
from ostraka.protos.ostraka.v1 import admin_pb2, common_pb2
from tests.deploy.whole import PARTIES, QUERIES, build
from tests.guardian.federation import plan


@pytest.fixture
def registered() -> Iterator[None]:
    ostraka.common.mechanism.register(NoisyMax)
    ostraka.guardian.mechanisms.register(NoisyMax, NoisyMaxRule())
    yield
    del MECHANISMS["noisy_max"], RULES[NoisyMax]


@pytest.mark.usefixtures("registered")
def test_it_labels_and_is_charged_its_worst_case(tmp_path: Path) -> None:
    whole = build(tmp_path)
    with whole.guardian(), whole.parties():
        result = whole.label(tmp_path / "run", mechanism=make_mechanism("noisy_max", scale=2.0))
        budgets = admin_call(
            whole.folder("ops"), lambda stub: list(stub.ListBudgets(admin_pb2.ListBudgetsRequest()))
        )
    assert (result.asked, result.answered) == (QUERIES, QUERIES)
    assert load_state(tmp_path / "run").parse_plan().mechanism == NoisyMax(scale=2.0)
    assert len(budgets) == len(PARTIES)
    for budget in budgets:
        cost = NoisyMax(scale=2.0).worst_case(budget.order, classes=10).answer
        spent = epsilon(QUERIES * cost, budget.order, budget.delta)
        assert budget.epsilon_worst_case == pytest.approx(spent, rel=1e-6)


@pytest.mark.usefixtures("registered")
def test_it_is_one_of_those_that_label_and_scales_with_its_votes() -> None:
    assert labelling()["noisy_max"] is NoisyMax
    assert NoisyMax(scale=2.0).scaled(3.0) == NoisyMax(scale=6.0)
    assert mechanism_of(mechanism_message(NoisyMax(scale=2.5))) == NoisyMax(scale=2.5)


@pytest.mark.usefixtures("registered")
@pytest.mark.parametrize(
    ("kind", "parameters", "told"),
    [
        ("gnmax", '{"sigma": 1.0}', "not installed here"),
        ("unknown", "{}", "not installed here"),
        ("noisy_max", "", "no JSON object"),
        ("noisy_max", "[" * 100_000, "no JSON object"),
        ("noisy_max", "[1]", "must be a table"),
        ("noisy_max", '{"scale": 0.0}', "scale: must be above 0, is 0.0"),
        ("noisy_max", '{"scale": "1"}', "scale: must be a number, is '1'"),
        ("noisy_max", '{"scale": NaN}', "scale: must be a finite number, is nan"),
        ("noisy_max", '{"scale": 1.0, "other": 1}', "other: there is no such key"),
    ],
)
def test_a_plan_with_a_malformed_one_is_refused(kind: str, parameters: str, told: str) -> None:
    message = common_pb2.Mechanism()
    message.installed.kind, message.installed.parameters = kind, parameters
    with pytest.raises(OstrakaError, match=told) as refused:
        mechanism_of(message)
    assert refused.value.code is ErrorCode.PLAN_INVALID


@pytest.mark.usefixtures("registered")
def test_a_guardian_without_its_rule_refuses_the_plan() -> None:
    asked = plan(mechanism=NoisyMax(scale=2.0))
    check_policy(asked, Policy())
    del RULES[NoisyMax]
    try:
        with pytest.raises(OstrakaError, match="cannot release the mechanism noisy_max") as refused:
            check_policy(asked, Policy())
    finally:
        ostraka.guardian.mechanisms.register(NoisyMax, NoisyMaxRule())
    assert refused.value.code is ErrorCode.POLICY_REFUSED


def test_a_site_without_the_package_says_so() -> None:
    message = common_pb2.Mechanism()
    message.installed.kind, message.installed.parameters = "noisy_max", '{"scale": 1.0}'
    with pytest.raises(OstrakaError, match="'noisy_max', which is not installed here"):
        mechanism_of(message)
    assert mechanism_of(mechanism_message(GnMax(sigma=1.0))) == GnMax(sigma=1.0)
