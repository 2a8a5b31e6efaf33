"""What a fit plans before anybody is asked."""

from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import pytest

from ostraka.client.fitting.fit_options import FitOptions
from ostraka.client.fitting.fitting import PlannedFit, plan_fit
from ostraka.client.fitting.problems import HIDDEN_BY_POLICY, HIDDEN_BY_SITE, KnownRecords, find_hidden
from ostraka.client.run.site import SiteEncoder
from ostraka.client.run.sum_planning import SumAsking
from ostraka.common.config import load_site
from ostraka.common.datasets import from_arrays
from ostraka.common.plan.plan import Plan
from ostraka.common.task import infer_task
from ostraka.deploy.provisioning import provision
from ostraka.protos.ostraka.v1 import guardian_pb2
from tests.client.run.test_sum_planning import Guardian

RANDOM = np.random.default_rng(0)
DATA = from_arrays(RANDOM.random((60, 4)), RANDOM.integers(0, 2, 60))
TASK = infer_task(DATA, "two")


@dataclass
class PolicyGuardian:
    """Counts costs, and tells which queries its policy allows."""

    encodings: tuple[str, ...]
    costs: Guardian = field(default_factory=lambda: Guardian({"a": (12.0, 1e-5, 1.0)}))

    def plan(self, plan: bytes) -> guardian_pb2.PlanReply:
        reply = self.costs.plan(Plan.parse(plan))
        reply.encodings.extend(self.encodings)
        return reply


def planned(encodings: tuple[str, ...], hidden: str = "", **options: bool) -> PlannedFit:
    known = replace(KnownRecords.read(TASK, SiteEncoder(), DATA, None), hidden=hidden)
    asked = FitOptions(learner="moments", **options)
    return plan_fit(known, asked, SumAsking(TASK, ("a",)), PolicyGuardian(encodings))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("made", "tells", "hidden"),
    [
        (planned(("plain", "ckks")), True, ""),
        (planned(()), True, ""),
        (planned(("ckks",)), False, HIDDEN_BY_POLICY),
        (planned(("plain",), HIDDEN_BY_SITE), False, HIDDEN_BY_SITE),
        (planned(("ckks",), tell_pool=False), False, ""),
    ],
    ids=["plain", "an older guardian", "encrypted alone", "site", "asked"],
)
def test_where_queries_are_encrypted_alone_no_pool_is_told_of(
    made: PlannedFit, tells: bool, hidden: str
) -> None:
    assert (made.tells_pool, made.hidden) == (tells, hidden)


def test_a_site_may_say_that_its_pool_is_told_of_to_nobody(tmp_path: Path) -> None:
    provision("test", ["a"], "asker", tmp_path, guardian="g", base_port=0)
    site = load_site(tmp_path / "asker")
    assert find_hidden(site) == ""
    with (site.folder / "site.toml").open("a") as file:
        file.write("\n[query]\ntell_pool = false\n")
    assert find_hidden(site) == HIDDEN_BY_SITE
