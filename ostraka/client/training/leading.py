"""A training from its options to its report."""

import secrets
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Literal, Self

from pydantic import BaseModel, ConfigDict

from ostraka.client.peers.guardian_peer import GuardianPeer
from ostraka.client.peers.retry import Retry
from ostraka.client.run.run_folder import hold_folder
from ostraka.client.run.site import (
    SiteEncoder,
    connect_guardian,
    connect_parties,
    guardian_of,
    load_class_task,
    threads,
)
from ostraka.client.session.permissions import Permissions
from ostraka.client.training.joining import TrainingOptions, open_training
from ostraka.client.training.lead import Lead
from ostraka.client.training.peer import TrainingPeer
from ostraka.client.training.training_state import TrainingProgress
from ostraka.common.clock import Clock, SystemClock
from ostraka.common.config import SiteConfig, load_section, load_site
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.identity import Credentials
from ostraka.common.learning.encoders import load_encoder
from ostraka.common.plan.fields import NONCE_BYTES
from ostraka.common.plan.plan import Plan
from ostraka.common.privacy import budget_rdp
from ostraka.common.privacy.filters import received_order
from ostraka.common.privacy.guarantees import NOTIONS
from ostraka.common.task import Task
from ostraka.common.validation import FrozenModel
from ostraka.protos.ostraka.v1 import guardian_pb2

RUN = "training"


class TrainingTable(BaseModel):
    """What a lead reads of the table [training] of its site.toml."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    encoder: str = ""


class TrainingCost(FrozenModel):
    """What the rounds that it took cost a party's records at worst, at the order of its budget.

    `group` is the unit that pays for the fewest such rounds, from what is left of this site's own budgets and
    from the whole budgets of others; `share` is what part of its whole budget that is, which epsilons of
    charges do not tell, because they do not add up.
    """

    site: str
    group: str
    teachers: int
    epsilon: float
    delta: float
    budget_epsilon: float
    share: float

    @classmethod
    def of(cls, cost: guardian_pb2.PartyCost) -> Self:
        """Return what a plan costs a party, as the guardian says."""
        paid, whole = (
            budget_rdp(epsilon, cost.delta, received_order(cost.order))
            for epsilon in (cost.epsilon, cost.budget_epsilon)
        )
        return cls(
            site=cost.site,
            group=cost.group,
            teachers=cost.teachers,
            epsilon=cost.epsilon,
            delta=cost.delta,
            budget_epsilon=cost.budget_epsilon,
            share=paid / whole if whole else 0.0,
        )


class TrainingReport(FrozenModel):
    """What came of a training.

    Attributes:
        kind: "ttac" or "dp_ttac".
        guarantee: "none" for ttac, else whose records are protected: a "record" or all of a "party".
        notion: the same in the words that stand beside epsilons; None for ttac.
        rounds: those released, and the last one.
        taking_part: how many parties were in the sum of each released round.
        costs: by party; none for ttac.
        left_out: why parties were left out of the last released round, by site.
        stopped: why there were fewer rounds than asked for; None where there were not.
    """

    kind: Literal["ttac", "dp_ttac"]
    guarantee: Literal["none", "record", "party"]
    notion: str | None
    rounds: int
    taking_part: tuple[int, ...]
    costs: tuple[TrainingCost, ...]
    left_out: dict[str, str]
    stopped: str | None


def lead(
    folder: Path,
    options: TrainingOptions,
    *,
    out: Path | None = None,
    on_progress: Callable[[TrainingProgress], None] = lambda _: None,
    clock: Clock | None = None,
    retry: Retry | None = None,
) -> TrainingReport:
    """Lead a training among the parties in the [parties] of site `folder`, this site's own among them.

    Args:
        folder: of a party's site.
        options: how teachers learn.
        out: where its progress is kept, to go on from; the folder `training` of the site.
        on_progress: called after every round.
        clock: the system's.
        retry: how calls are repeated.

    Raises:
        OstrakaError: `config.invalid` where the site leads nothing, and whatever joining and rounds raise.
    """
    clock = clock or SystemClock()
    retry = retry or Retry()
    site = _site(folder)
    task = load_class_task("training together", folder)
    credentials = Credentials.of(site)
    credentials.check_valid(clock)
    run = out or folder / RUN
    with hold_folder(run), ExitStack() as stack:
        guardian = stack.enter_context(connect_guardian(site, clock, retry))
        pool = stack.enter_context(threads(len(site.parties)))
        connected = connect_parties(site, site.parties, TrainingPeer, clock, retry, pool)
        parties = stack.enter_context(connected)
        nonce = secrets.token_bytes(NONCE_BYTES)
        store = open_training(run, site.site, parties, options, task, _encoder(site, task), nonce)
        permissions = Permissions(credentials, guardian_of(site), clock)
        leading = Lead.open(guardian, parties, permissions, store, on_progress)
        leading.run()
        return TrainingReport(
            kind=options.kind,
            guarantee="none" if options.kind == "ttac" else options.clip,
            notion=None if options.kind == "ttac" else NOTIONS["record"],
            rounds=store.progress.number + 1,
            taking_part=store.progress.taking_part,
            costs=() if options.kind == "ttac" else _costs(guardian, store.plan, store.progress.taken),
            left_out={name: error.message for name, error in leading.left_out.items()},
            stopped=store.progress.stopped or None,
        )


def _costs(guardian: GuardianPeer, plan: Plan, taken: Mapping[str, int]) -> tuple[TrainingCost, ...]:
    """Return the cost of a plan to the parties that took rounds, by site, from how many each took."""
    costs = [
        TrainingCost.of(one)
        for rounds in set(taken.values())
        for one in guardian.plan(plan.model_copy(update={"queries": rounds}).serialize()).parties
        if taken.get(one.site) == rounds
    ]
    return tuple(sorted(costs, key=lambda cost: cost.site))


def _encoder(site: SiteConfig, task: Task) -> SiteEncoder:
    """Return the public network that this party trains behind, as all parties do."""
    name = load_section(site.folder, "training", TrainingTable).encoder or task.encoder
    return SiteEncoder(load_encoder(name)) if name else SiteEncoder()


def _site(folder: Path) -> SiteConfig:
    site = load_site(folder)
    if site.role != "party" or site.site not in site.parties:
        raise OstrakaError(
            ErrorCode.CONFIG_INVALID,
            f"{folder} leads nobody: name the folder of a party whose site.toml lists all parties that take"
            " part, itself too, with their addresses under [parties].",
        )
    return site
