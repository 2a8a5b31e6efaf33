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
    """The keys that a lead uses from the table [training] of its site.toml."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    encoder: str = ""


class TrainingCost(FrozenModel):
    """Worst-case cost of a party's rounds to its records, at the order of its budget.

    `group` is the unit that can pay for the fewest such rounds, from the remaining budget for this site's own
    units and from the whole budget for others. `share` is the fraction of its whole budget, which cannot be
    computed from the charges' epsilons, because these do not add up.
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
        """Return a plan's cost to a party, as the guardian reports it."""
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
    """The result of a training.

    Attributes:
        kind: "ttac" or "dp_ttac".
        guarantee: "none" for ttac, else what is protected: a "record" or all of a "party".
        notion: the same, in the words next to epsilons; None for ttac.
        rounds: number of released rounds, plus the last one.
        taking_part: number of parties in the sum of each released round.
        costs: by party; empty for ttac.
        left_out: why parties were left out of the last released round, or of the whole training, by site.
        stopped: why there were fewer rounds than planned; None otherwise.
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
    """Lead a training of the parties in [parties] of site `folder`, which must include the site itself.

    Args:
        folder: of a party's site.
        options: settings of the training.
        out: folder of its progress, from which it resumes; default: `training` in the site folder.
        on_progress: called after every round.
        clock: default: the system's.
        retry: how calls are repeated.

    Raises:
        OstrakaError: `config.invalid` if the site cannot lead, and the errors of joining and rounds.
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
            left_out=store.progress.left_out
            | {name: error.message for name, error in leading.left_out.items()},
            stopped=store.progress.stopped or None,
        )


def _costs(guardian: GuardianPeer, plan: Plan, taken: Mapping[str, int]) -> tuple[TrainingCost, ...]:
    """Return a plan's cost to the parties in its rounds, by site, from how many rounds each one was in."""
    costs = [
        TrainingCost.of(one)
        for rounds in set(taken.values())
        for one in guardian.plan(plan.model_copy(update={"queries": rounds}).serialize()).parties
        if taken.get(one.site) == rounds
    ]
    return tuple(sorted(costs, key=lambda cost: cost.site))


def _encoder(site: SiteConfig, task: Task) -> SiteEncoder:
    """Return the public network that this party, like all parties, uses as the encoder."""
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
