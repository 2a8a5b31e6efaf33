from pathlib import Path
from typing import ClassVar

import pytest
from noisy_max import NoisyMax

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.mechanism import DpTtac, Recipe, Ttac
from ostraka.guardian.ledger.store.values import StoredPolicy
from ostraka.guardian.policy import Policy, PolicyInForce, load_policy, parse_policy

SITE = 'federation = "f"\nsite = "g"\nrole = "guardian"\nlisten = "127.0.0.1:0"\n'


def written(folder: Path, *lines: str) -> Path:
    (folder / "site.toml").write_text(SITE + "\n".join(["[policy]", *lines]))
    return folder


def test_defaults_are_the_strict_choices(tmp_path: Path) -> None:
    (tmp_path / "site.toml").write_text(SITE)
    policy = load_policy(tmp_path)
    assert policy == Policy()
    assert policy.enforce == "worst_case"
    assert policy.bound == "worst_case"
    assert policy.min_quorum >= 2
    assert policy.encodings == ("plain",)


def test_what_site_toml_says_counts(tmp_path: Path) -> None:
    policy = load_policy(
        written(tmp_path, 'enforce = "data_dependent"', "min_quorum = 3", "[policy.consent]", "low = 0.7")
    )
    assert (policy.enforce, policy.bound, policy.min_quorum) == ("data_dependent", "exact", 3)
    assert policy.epsilon_of("low") == 0.7


def test_only_a_guardian_that_was_started_to_lets_stops_tell_votes() -> None:
    held, free = Policy(bound="exact"), Policy(enforce="data_dependent")
    for fallback in (held, free):
        PolicyInForce(Applied().policy, fallback, votes_may_tell=True).check(free)
    policies = PolicyInForce(Applied().policy, held)
    assert policies.current() == held
    applied = Applied()
    applied.apply(1, 'enforce = "data_dependent"')
    refusals = [
        lambda: policies.check(free),
        PolicyInForce(Applied().policy, free).current,
        PolicyInForce(applied.policy, held).current,
    ]
    for refused in refusals:
        with pytest.raises(OstrakaError, match="--stops-and-times-tell-votes") as caught:
            refused()
        assert caught.value.code == ErrorCode.POLICY_STOPS_TELL_VOTES


def test_a_consent_level_that_the_policy_lacks_is_refused() -> None:
    with pytest.raises(OstrakaError) as caught:
        Policy(consent={"low": 1.0}).epsilon_of("high")
    assert caught.value.code == ErrorCode.CONSENT_UNKNOWN


def test_a_year_of_renewal_is_in_milliseconds() -> None:
    assert Policy().renewal_ms is None
    assert Policy(renewal_days=365).renewal_ms == 365 * 86_400_000


@pytest.mark.parametrize(
    "line",
    [
        'enforce = "never"',
        'bound = "loose"',
        "min_quorum = 0",
        "min_sigma = 0",
        "min_sigma = nan",
        "max_batch = 0",
        "max_queries = 0",
        "delta = 0",
        "delta = 1",
        "grant_ttl_s = inf",
        "grant_ttl_s = 0",
        "allowed_skew_s = -1",
        "grant_ttl_s = 1e300",
        "allowed_skew_s = 1e300",
        "freeze_after_s = 1e300",
        "renewal_days = 40000",
        "max_batch = 1000001",
        "min_quorum = 10001",
        "min_sigma = 1e10",
        "consent = { low = 1e7 }",
        "max_queries = 4294967296",
        "freeze_after_s = 0",
        "budget = 3",
        'on_exhaustion = "wait"',
        'admission = "anyone"',
        'mechanisms = ["gnmax", "guess"]',
        "max_queries_per_day = 0",
        "renewal_days = 0",
        "keep_answers_days = 0",
        "keep_answers_days = 1\ngrant_ttl_s = 86401",
        "encodings = []",
        'encodings = ["bfv"]',
        "consent = { low = 0 }",
        "consent = { LOW = 1 }",
    ],
)
def test_a_value_out_of_range_is_named(tmp_path: Path, line: str) -> None:
    with pytest.raises(OstrakaError) as caught:
        load_policy(written(tmp_path, line))
    assert caught.value.code == ErrorCode.CONFIG_INVALID
    assert line.split(maxsplit=1)[0] in caught.value.message


@pytest.mark.parametrize("text", ["enforce", 'enforce = "never"', "max_batch = 0"])
def test_a_policy_file_that_is_off_says_where(text: str) -> None:
    with pytest.raises(OstrakaError) as caught:
        parse_policy(text)
    assert caught.value.code == ErrorCode.POLICY_INVALID
    assert caught.value.message.endswith("correct the file.")


class Applied:
    """A ledger that only has policies."""

    stored: StoredPolicy | None = None

    def apply(self, version: int, toml: str) -> None:
        self.stored = StoredPolicy(version, toml, "a reason", 0)

    def policy(self) -> StoredPolicy | None:
        return self.stored


def test_the_policy_applied_last_is_in_force() -> None:
    applied, fallback = Applied(), Policy(max_batch=7)
    policies = PolicyInForce(applied.policy, fallback)
    assert policies.current() is fallback
    for version in (1, 2):
        applied.apply(version, f"max_batch = {version}")
        assert policies.current() == Policy(max_batch=version)
    assert policies.current() is policies.current()


def test_what_has_no_formal_guarantee_is_allowed_by_name_alone() -> None:
    recipe = Recipe(model="mlp", parameters=2, steps=1, batch_size=1, learning_rate=0.1)
    ttac, dp_ttac = Ttac(recipe=recipe), DpTtac(recipe=recipe, radius=1.0, sigma=5.0)
    for policy in (Policy(), Policy(mechanisms=("dp_ttac",))):
        assert (policy.allows(ttac), policy.allows(dp_ttac)) == (False, True)
        assert not policy.allows_unguaranteed
    named = Policy(mechanisms=("ttac", "gnmax"))
    assert (named.allows(ttac), named.allows(dp_ttac), named.allows_unguaranteed) == (True, False, True)
    assert not named.allows(Unguaranteed(scale=2.0))


class Unguaranteed(NoisyMax):
    guaranteed: ClassVar[bool] = False
