from pathlib import Path

import pytest

from common.errors import ErrorCode, OstrakaError
from guardian.policy import Policy, load_policy

SITE = 'federation = "f"\nsite = "g"\nrole = "guardian"\nlisten = "127.0.0.1:0"\n'


def written(folder: Path, *lines: str) -> Path:
    (folder / "site.toml").write_text(SITE + "\n".join(["[policy]", *lines]))
    return folder


def test_defaults_are_the_strict_choices(tmp_path: Path) -> None:
    (tmp_path / "site.toml").write_text(SITE)
    policy = load_policy(tmp_path)
    assert policy == Policy()
    assert policy.enforce == "worst_case"
    assert policy.min_quorum >= 2


def test_what_site_toml_says_counts(tmp_path: Path) -> None:
    policy = load_policy(
        written(tmp_path, 'enforce = "data_dependent"', "min_quorum = 3", 'parties = ["athens"]')
    )
    assert (policy.enforce, policy.bound, policy.min_quorum) == ("data_dependent", "exact", 3)
    assert policy.allows("athens")
    assert not policy.allows("sparta")


def test_without_a_list_every_certified_party_may_answer() -> None:
    assert Policy().allows("anyone")


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
        "freeze_after_s = 0",
        "budget = 3",
    ],
)
def test_a_value_out_of_range_is_named(tmp_path: Path, line: str) -> None:
    with pytest.raises(OstrakaError) as caught:
        load_policy(written(tmp_path, line))
    assert caught.value.code == ErrorCode.CONFIG_INVALID
    assert line.split(maxsplit=1)[0] in caught.value.message
