"""What of a guardian's grant a querying party checks before it asks anything."""

from pathlib import Path
from typing import Any

import pytest

from ostraka.client.session.permissions import Permissions
from ostraka.common.clock import Clock, ManualClock, SystemClock
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.identity import CertificateAuthority, Credentials, Identity, Role
from ostraka.common.mechanism import GnMax
from ostraka.common.plan.plan import Plan, digest
from ostraka.common.plan.signed_lists import sign_list
from ostraka.common.wire.contexts import GRANT_CONTEXT, PROTOCOL_VERSION
from ostraka.protos.ostraka.v1 import common_pb2

GUARDIAN, QUERIER = Identity("fed", "g", Role.GUARDIAN), Identity("fed", "q", Role.QUERY)
PLAN = Plan(
    nonce=bytes(16),
    task_digest=bytes(32),
    classes=2,
    mechanism=GnMax(sigma=2.0),
    parties=("a", "b"),
    quorum=2,
    queries=4,
    batch_size=4,
).serialize()
SKEW_S = 60


@pytest.fixture
def members(tmp_path: Path) -> dict[Identity, Credentials]:
    ca = CertificateAuthority.create("fed", SystemClock())
    issued = {}
    for member in (GUARDIAN, QUERIER):
        (tmp_path / member.site).mkdir()
        issued[member] = ca.issue(member, tmp_path / member.site, SystemClock())
    return issued


def granted(members: dict[Identity, Credentials], clock: Clock, **changes: Any) -> common_pb2.Grant:
    """Return the grant with these changes, as the querying party reads it."""
    fields: dict[str, Any] = {
        "session_id": "s",
        "plan_digest": digest(PLAN),
        "querier": QUERIER.uri,
        "protocol_version": PROTOCOL_VERSION,
        "ring_bits": 64,
        "max_batch": 4,
        "participants": [participant(site) for site in ("a", "b")],
        "allowed_skew_s": SKEW_S,
    }
    grant = common_pb2.Grant(**fields | changes)
    if "teachers" not in changes:
        grant.teachers = sum(one.teachers for one in grant.participants)
    signed = sign_list(members[GUARDIAN], GRANT_CONTEXT, grant)
    permissions = Permissions(members[QUERIER], GUARDIAN, clock)
    read = permissions.grant(signed, PLAN)
    permissions.require_current(read)
    return read


def participant(site: str) -> common_pb2.Participant:
    cohort = common_pb2.Cohort(groups=["all"], teachers=3, weight=1, copies=[1])
    return common_pb2.Participant(site=site, teachers=3, cohorts=[cohort])


def test_a_grant_under_which_nothing_may_be_asked_is_refused(members: dict[Identity, Credentials]) -> None:
    until = int(SystemClock().now()) + 60
    assert granted(members, SystemClock(), expires_unix_s=until).max_batch == 4
    with pytest.raises(OstrakaError) as refused:
        granted(members, SystemClock(), expires_unix_s=until, max_batch=0)
    assert refused.value.code is ErrorCode.GRANT_INVALID


@pytest.mark.parametrize("sites", ["abz", "abb"], ids=["a stranger", "a party twice"])
def test_a_grant_that_names_parties_beside_the_plans_is_refused(
    members: dict[Identity, Credentials], sites: str
) -> None:
    until = int(SystemClock().now()) + 60
    named = [participant(site) for site in sites]
    with pytest.raises(OstrakaError) as refused:
        granted(members, SystemClock(), expires_unix_s=until, participants=named)
    assert refused.value.code is ErrorCode.GRANT_INVALID


def test_a_grant_whose_teachers_are_not_those_of_its_participants_is_refused(
    members: dict[Identity, Credentials],
) -> None:
    with pytest.raises(OstrakaError) as refused:
        granted(members, SystemClock(), expires_unix_s=int(SystemClock().now()) + 60, teachers=7)
    assert refused.value.code is ErrorCode.GRANT_INVALID


@pytest.mark.parametrize(("before_s", "holds"), [(0, True), (SKEW_S, True), (SKEW_S + 1, False)])
def test_clocks_may_be_apart_before_a_grant_begins(
    members: dict[Identity, Credentials], before_s: int, holds: bool
) -> None:
    now = int(SystemClock().now())
    changes = {"not_before_unix_s": now + before_s, "expires_unix_s": now + 3600}
    if holds:
        granted(members, ManualClock(now), **changes)
        return
    with pytest.raises(OstrakaError) as refused:
        granted(members, ManualClock(now), **changes)
    assert refused.value.code is ErrorCode.GRANT_NOT_YET_VALID


@pytest.mark.parametrize(("after_s", "holds"), [(SKEW_S, True), (SKEW_S + 1, False)])
def test_clocks_may_be_apart_after_a_grant_ends(
    members: dict[Identity, Credentials], after_s: int, holds: bool
) -> None:
    now = int(SystemClock().now())
    if holds:
        granted(members, ManualClock(now), expires_unix_s=now - after_s)
        return
    with pytest.raises(OstrakaError) as refused:
        granted(members, ManualClock(now), expires_unix_s=now - after_s)
    assert refused.value.code is ErrorCode.GRANT_EXPIRED
