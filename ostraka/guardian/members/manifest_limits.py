"""Limits on a party's manifest, and the numbers of votes of one person that it raises."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import groupby, pairwise

from google.protobuf.message import DecodeError

from ostraka.common.datasets.consent import LEVEL
from ostraka.common.wire.limits import check_limits
from ostraka.guardian.sessions.trainings import TOGETHER
from ostraka.protos.ostraka.v1 import common_pb2

_NAME = re.compile(LEVEL)


def groups_of(manifest: bytes) -> set[str]:
    """Return the names of the groups of a serialized manifest."""
    return {group.name for group in common_pb2.Manifest.FromString(manifest).groups}


def votes_of(manifest: bytes) -> int:
    """Return how many votes one person has in a query by a serialized manifest."""
    return int(common_pb2.Manifest.FromString(manifest).max_votes_per_person)


def problem_of(payload: bytes, site: str) -> str | None:
    """Return what is wrong with a serialized manifest of `site`, as the end of a sentence, or None.

    Raises:
        OstrakaError: `message.too_large` for lists and texts beyond their limits.
    """
    try:
        manifest = common_pb2.Manifest.FromString(payload)
    except DecodeError:
        return "cannot be read"
    check_limits(manifest)
    if manifest.site != site:
        return f"names site {manifest.site!r}"
    if len(manifest.task_digest) != 32:
        return "lacks the digest of its task"
    texts = (manifest.training, manifest.head, manifest.encoder)
    if not all(text.isprintable() for text in texts):
        return "must say in printable characters how its teachers were trained and are evaluated"
    if len(manifest.encoder_sha256) not in (0, 32):
        return "has a digest of its encoder that is no SHA-256"
    if manifest.max_votes_per_person < 1:
        return "must say what one person can change in one query (max_votes_per_person >= 1)"
    if manifest.together not in TOGETHER:
        return f"says that its teachers learned by {manifest.together!r}, which this version does not know,"
    if manifest.shared_features and manifest.together:
        return "says that its teachers learned with those of others, and from labels of their own alone"
    if list(manifest.abstains) != sorted(set(manifest.abstains)):
        return "must name labels on which its teachers do not vote once each, in rising order (abstains)"
    return _problem_of_groups(manifest)


def _problem_of_groups(manifest: common_pb2.Manifest) -> str | None:
    groups = manifest.groups
    names = [group.name for group in groups]
    if not names or len(set(names)) != len(names) or not all(_NAME.fullmatch(name) for name in names):
        return "needs at least one group, each with a name of its own in small letters, digits and hyphens"
    if any(group.teachers < 1 or group.records < 1 for group in groups):
        return "needs at least one teacher and one record a group"
    if any(not 1 <= group.copies <= group.teachers for group in groups):
        return "must say how many teachers a record of each group touches (copies, one at least)"
    if manifest.mixed:
        return _problem_of_mixed(manifest)
    if any(group.copies != 1 for group in groups):
        return "has copies of records among teachers of one group; only mixed teachers share records"
    if any(group.records < group.teachers for group in groups):
        return "needs at least one record a teacher"
    return None


def _problem_of_mixed(manifest: common_pb2.Manifest) -> str | None:
    teachers = {group.teachers for group in manifest.groups}
    if len(teachers) > 1:
        return "has mixed teachers and not the same number of them for every group"
    if sum(group.records * group.copies for group in manifest.groups) < max(teachers):
        return "needs at least one record a teacher"
    return None


def raised_to(declared: Sequence[int]) -> int | None:
    """Return the largest number that came after a smaller one; None where there is none."""
    return max((after for before, after in pairwise(declared) if after > before), default=None)


def raised_unknown(known: Sequence[int], declared: Sequence[int]) -> int | None:
    """Return the largest number that a party raised its votes to without a restored ledger's knowledge.

    A number that was raised and lowered again leaves no trace in the manifests that are left, so what the
    party kept counts. It may have kept numbers that never reached a guardian, or, where its journal is
    younger than the ledger, not all that the ledger knows: rather too much is raised than too little.

    Args:
        known: what its manifests before the loss said, in order.
        declared: what the party kept, in order.
    """
    return raised_to([*known[-1:], *_after(known, declared)])


def _after(known: Sequence[int], declared: Sequence[int]) -> Sequence[int]:
    """Return what was declared after all that is known, or everything where it lacks something known."""
    rest = iter(declared)
    changes = [votes for votes, _ in groupby(known)]
    if all(votes in rest for votes in changes):
        return list(rest)
    return declared
