"""The start of a training: compare what the parties are about to train, and make the plan."""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from ostraka.client.peers.event_loop import run_async
from ostraka.client.run.site import SiteEncoder
from ostraka.client.session.asking import ask_all, failures
from ostraka.client.training.peer import JoinedParty, TrainingPeer
from ostraka.client.training.training_state import AveragedModel, TrainingProgress, TrainingStore
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.mechanism import DpTtac, JointTraining, Recipe, Ttac, invalid_plan
from ostraka.common.plan.plan import Plan
from ostraka.common.task import Task
from ostraka.protos.ostraka.v1.training_pb2 import JoinHeader

JOIN_AT_ONCE = 64
"""Maximum number of parties whose untrained parameters are in memory at once."""


@dataclass(frozen=True, kw_only=True)
class TrainingOptions:
    """Options of the leader of a joint training; see `Recipe` and `DpTtac`.

    `rounds` includes the last one, whose local steps produce the teachers; `quorum` None means more than
    half.
    """

    kind: Literal["ttac", "dp_ttac"]
    rounds: int
    steps: int
    batch_size: int
    learning_rate: float
    decay: float
    average_rate: float
    clip: Literal["record", "party"]
    radius: float
    sigma: float
    quorum: int | None = None

    def mechanism(self, model: str, parameters: int) -> JointTraining:
        """Return the mechanism for a network with this many parameters; may raise `plan.invalid`."""
        recipe = Recipe(
            model=model,
            parameters=parameters,
            steps=self.steps,
            batch_size=self.batch_size,
            learning_rate=self.learning_rate,
            decay=self.decay,
            average_rate=self.average_rate,
        )
        if self.kind == "ttac":
            return Ttac(recipe=recipe)
        return DpTtac(recipe=recipe, clip=self.clip, radius=self.radius, sigma=self.sigma)

    def plan(
        self,
        mechanism: JointTraining,
        task: Task,
        sites: tuple[str, ...],
        encoder: SiteEncoder,
        nonce: bytes,
    ) -> Plan:
        """Return the plan whose queries are all rounds except the last; may raise `plan.invalid`."""
        if self.rounds < 2:
            raise invalid_plan("teachers learn together from two rounds on; ask for more")
        return Plan(
            nonce=nonce,
            task_digest=task.digest,
            classes=len(task.classes),
            multi_label=task.multi_label,
            mechanism=mechanism,
            parties=sites,
            quorum=len(sites) // 2 + 1 if self.quorum is None else self.quorum,
            queries=self.rounds - 1,
            batch_size=1,
            encoder=encoder.name,
            encoder_sha256=encoder.sha256,
        )


def open_training(
    folder: Path,
    own: str,
    parties: Mapping[str, TrainingPeer],
    options: TrainingOptions,
    task: Task,
    encoder: SiteEncoder,
    nonce: bytes,
) -> TrainingStore:
    """Open the training in `folder`: resumed if there is one, else new, with this `nonce`.

    A new training starts at the untrained parameters of site `own`, with the public network `encoder`.

    Raises:
        OstrakaError: `run.mismatch` if the folder contains a training with other options; `plan.invalid`,
            `task.mismatch` if parties are about to train something else; `party.unreachable`.
    """
    sites = tuple(sorted(parties))
    found = TrainingStore.load(folder)
    if found is None:
        first = _join(parties, own, options.kind, task)
        mechanism = options.mechanism(first.model, len(first.untrained))
        plan = options.plan(mechanism, task, sites, encoder, nonce)
        progress = TrainingProgress(plan=plan.serialize().hex())
        return TrainingStore.create(folder, progress, AveragedModel.starting_at(first.untrained))
    stored = found.plan
    assert isinstance(stored.mechanism, JointTraining)  # noqa: S101 - this wrote it
    recipe = stored.mechanism.recipe
    mechanism = options.mechanism(recipe.model, recipe.parameters)
    asked = options.plan(mechanism, task, sites, encoder, stored.nonce)
    if asked != stored:
        names = [name for name in Plan.model_fields if getattr(asked, name) != getattr(stored, name)]
        raise OstrakaError(
            ErrorCode.RUN_MISMATCH,
            f"{folder} holds a training with other {', '.join(names)}: repeat its options to go on with it,"
            " or name another --out folder.",
        )
    return found


def _join(parties: Mapping[str, TrainingPeer], own: str, kind: str, task: Task) -> JoinedParty:
    """Return what party `own` is about to train; raise unless all parties train the same."""
    several = asyncio.Semaphore(JOIN_AT_ONCE)

    async def ask(site: str, check: Callable[[JoinHeader], None] = lambda _: None) -> JoinedParty:
        try:
            await parties[site].probe()
            found = await parties[site].join(kind, check)
        except OstrakaError as error:
            raise OstrakaError(error.code, f"{site}: {error.message}", **error.details) from error
        if found.task_digest != task.digest:
            raise OstrakaError(
                ErrorCode.TASK_MISMATCH,
                f"Party {site} trains for another task: give all sites the same task.toml.",
            )
        return found

    def compare(header: JoinHeader) -> None:
        if (header.model, header.parameters) != (first.model, len(first.untrained)):
            raise invalid_plan(
                f"it trains {header.model} with {header.parameters} parameters and {own} "
                f"{first.model} with {len(first.untrained)}; give all parties the same --model"
            )

    async def ask_alike(site: str) -> None:
        async with several:
            await ask(site, compare)

    first = run_async(ask(own))
    others = sorted(set(parties) - {own})
    for error in failures(run_async(ask_all(others, ask_alike))).values():
        raise error
    return first
