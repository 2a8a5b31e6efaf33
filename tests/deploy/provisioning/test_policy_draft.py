"""What sites of a new federation agree to, until somebody takes it out."""

from pathlib import Path

import pytest

from ostraka.common.config import load_section
from ostraka.common.mechanism import GnMax, Moments
from ostraka.deploy.provisioning import provision
from ostraka.deploy.provisioning.kits import write_kits
from ostraka.deploy.provisioning.policy_draft import MECHANISMS, policy_draft
from ostraka.guardian.policy import load_policy
from ostraka.services.admission.policy import PartyPolicy

EXAMPLE = Path(__file__).parents[3] / "examples" / "federation.toml"


def made_folders(out: Path, how: str) -> tuple[Path, Path, Path]:
    """Make a federation; return the folders of its guardian, a party and a querying party."""
    if how == "provision":
        trial = provision("demo", ["a"], "q", out)
        return trial.guardian, trial.parties["a"], trial.query
    kits = write_kits(EXAMPLE, out).kits
    of_role = {name.rpartition("-")[2]: folder for name, folder in kits.items()}
    return of_role["guardian"], of_role["party"], of_role["query"]


@pytest.mark.parametrize("how", ["provision", "kits"])
def test_a_new_federation_names_votes_and_sums(tmp_path: Path, how: str) -> None:
    guardian, party, query = made_folders(tmp_path / "made", how)
    policies = load_policy(guardian), load_section(party, "policy", PartyPolicy)
    assert {policy.mechanisms for policy in policies} == {MECHANISMS}
    assert policies[0].allows(GnMax(sigma=40.0))
    assert policies[0].allows(Moments(columns=2, codes=2, sigma=1.0))
    assert policies[1].allows_sums
    for site in (guardian, party):
        assert "it answers any question, for ever" in " ".join((site / "site.toml").read_text().split())
    assert "[policy]" not in (query / "site.toml").read_text()


def test_who_serves_nothing_gets_no_policy() -> None:
    assert [bool(policy_draft(role)) for role in ("guardian", "party", "admin", "query")] == [
        True,
        True,
        False,
        False,
    ]
