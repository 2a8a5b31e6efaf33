"""Parties that leave labels out: which plans can do without their votes there."""

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.plan.plan import Plan
from ostraka.protos.ostraka.v1 import common_pb2


def check_abstains(plan: Plan, manifest: common_pb2.Manifest) -> None:
    """Raise where the labels that a party abstains from do not go with `plan`.

    `task.mismatch` unless they are some, not all, of the task's labels, `plan.invalid` for a mechanism or
    tally that needs the votes of every party on every label. A party that abstains from all labels that the
    plan chose is no trouble: it takes no part.
    """
    silent = len(plan.columns_of(manifest.abstains))
    if not manifest.abstains or (plan.labels and silent in (0, plan.classes)):
        return
    if not plan.labels and not (plan.multi_label and max(manifest.abstains) < plan.classes > silent):
        raise OstrakaError(
            ErrorCode.TASK_MISMATCH,
            f"Party {manifest.site} registered that it abstains from labels that the plan's task does not"
            " have, or from all it has; let it correct abstains in [training] of its site.toml and train"
            " again.",
        )
    if not plan.counts_by_label:
        raise _needs_all(manifest.site, f"mechanism {plan.mechanism.kind}", "mechanism binary, tau or l1")
    if plan.tally == "blind":
        raise _needs_all(manifest.site, "tally blind", "tally aggregate")


def _needs_all(site: str, what: str, instead: str) -> OstrakaError:
    return OstrakaError(
        ErrorCode.PLAN_INVALID,
        f"Party {site} abstains from some labels and {what} needs its votes on all of them; leave it out of"
        f" the plan, or choose {instead}.",
    )
