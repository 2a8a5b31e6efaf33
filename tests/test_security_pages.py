"""What SECURITY.md and the pages on attacks claim, where code decides it."""

import re
from pathlib import Path

import numpy as np
import pytest

from ostraka.client.run.asking_options import MAX_VERIFIED_SUM, MAX_VERIFIED_WIDTH
from ostraka.client.run.options import PlanOptions, make_plan
from ostraka.client.run.sum_planning import SumAsking
from ostraka.common.datasets import from_arrays
from ostraka.common.mechanism import L1, Binary, GnMax, Gradients, Mechanism, Tau
from ostraka.common.plan.choices import BALLOTS, ENCODING, TALLY
from ostraka.common.plan.limits import MAX_VERIFIED_VALUES
from ostraka.common.task import infer_task
from ostraka.common.verified.layout import MIN_SOUNDNESS_BITS, POINTS_BELOW
from ostraka.guardian.policy import Policy
from ostraka.guardian.sessions.attestations import MAX_ASKED
from ostraka.services.admission.policy import PartyPolicy
from ostraka.services.serving.wiring import AGAIN_S

ROOT = Path(__file__).parent.parent


def page(name: str) -> str:
    """Return a page with every blank one space, since its lines break anywhere."""
    return " ".join((ROOT / name).read_text().split())


def ballots(
    mechanism: Mechanism, classes: int = 3, encoding: ENCODING = "plain", tally: TALLY = "aggregate"
) -> str:
    """Return whether ballots of a plan are verified where the options say nothing of it."""
    several = mechanism.kind != "gnmax"
    y = np.tri(classes, dtype=int) if several else np.arange(classes)
    task = infer_task(from_arrays(np.eye(classes), y, classes=tuple(map(str, range(classes)))), "task")
    options = PlanOptions(mechanism=mechanism, encoding=encoding, tally=tally)
    return make_plan(options, task, 10, {"a": "127.0.0.1:1", "b": "127.0.0.1:2"}, bytes(16)).ballots


def test_pages_say_when_ballots_are_verified_by_default() -> None:
    verified = page("docs/verified-ballots.md")
    assert (
        "They are the default where the table has a proof, votes are whole (not for tau and l1)" in verified
    )
    assert f"a query has at most {MAX_VERIFIED_WIDTH} counts" in verified
    assert ballots(GnMax(sigma=4.0)) == ballots(Binary(sigma=4.0)) == "verified"
    assert ballots(Tau(sigma=4.0, tau=1.5)) == ballots(L1(sigma=4.0, tau1=1.5)) == "unverified"
    widest = MAX_VERIFIED_WIDTH
    assert [ballots(GnMax(sigma=4.0), classes) for classes in (widest, widest + 1)] == [
        "verified",
        "unverified",
    ]
    assert ballots(GnMax(sigma=4.0), encoding="ckks") == "unverified"
    assert ballots(GnMax(sigma=4.0), tally="blind") == "verified"
    security = page("SECURITY.md")
    assert "[Verified ballots](docs/verified-ballots.md), the default where there is a proof" in security
    assert "nothing else does: not in encrypted sessions and trainings" in security
    assert "unverified ballots, unless a policy demands verified ones" in security
    assert Policy().ballots == PartyPolicy().ballots == "any"


@pytest.mark.parametrize("name", ["SECURITY.md", "docs/threat-model.md", "docs/known-weaknesses.md"])
def test_pages_say_who_may_forge_and_who_may_take_a_model(name: str) -> None:
    told = page(name)
    assert re.search(
        "in league with a party forges|forge any ballot of that party|forges verified ballots", told
    )
    assert "ckks-square" in told
    assert re.search(r"from \[one batch\]|by one batch|one batch of dishonest queries", told)


def test_pages_say_which_sums_are_verified() -> None:
    task = infer_task(from_arrays(np.eye(2), np.arange(2), classes=("no", "yes")), "task")

    def verified(values: int, asked: BALLOTS | None = None) -> str:
        asking = SumAsking(task, ("a", "b"), ballots=asked)
        return asking.plan(Gradients(parameters=values, sigma=1.0), 1, bytes(16)).ballots

    assert [verified(values) for values in (MAX_VERIFIED_SUM, MAX_VERIFIED_SUM + 1)] == [
        "verified",
        "unverified",
    ]
    assert verified(MAX_VERIFIED_VALUES, "verified") == "verified"
    assert verified(8, "unverified") == "unverified"
    pages = (page("docs/verified-ballots.md"), page("docs/sums.md"), page("docs/known-weaknesses.md"))
    for told in pages:
        assert f"{MAX_VERIFIED_SUM:,} values" in told
        assert f"{MAX_VERIFIED_VALUES:,}" in told


def test_heads_with_squares_are_offered_by_no_default_policy() -> None:
    assert Policy().encodings == PartyPolicy().encodings == ("plain",)
    assert "**One batch, charged as one query, gives away all such heads" in page("docs/confidential.md")


def test_numbers_of_verified_ballots_are_those_of_the_code() -> None:
    verified = page("docs/verified-ballots.md")
    assert f"chance is below 2^-{MIN_SOUNDNESS_BITS} for every accepted statement" in verified
    assert f"p - 2^{POINTS_BELOW.bit_length() - 1} (61 bits)" in verified
    assert f"refused in more than {MAX_ASKED} batches at a time" in verified
    assert AGAIN_S == 30
    assert "registers next, within half a minute" in verified
