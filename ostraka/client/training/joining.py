"""The start of a training: compare what the parties are about to train, and make the plan."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import structlog

from ostraka.client.peers.event_loop import run_async
from ostraka.client.run.site import SiteEncoder
from ostraka.client.session.asking import ask_all, failures
from ostraka.client.session.availability import quorum_lost
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

    def quorum_of(self, listed: int) -> int:
        """Return the smallest number of parties in a sum, if this many are listed."""
        return listed // 2 + 1 if self.quorum is None else self.quorum

    def plan(
        self,
        mechanism: JointTraining,
        task: Task,
        sites: Sequence[str],
        listed: int,
        encoder: SiteEncoder,
        nonce: bytes,
    ) -> Plan:
        """Return the plan whose queries are all rounds except the last; may raise `plan.invalid`.

        `sites` take part. The default of the quorum is a majority of all `listed`, so that parties that fail
        do not lower it.
        """
        if self.rounds < 2:
            raise invalid_plan("teachers learn together from two rounds on; ask for more")
        return Plan(
            nonce=nonce,
            task_digest=task.digest,
            classes=len(task.classes),
            multi_label=task.multi_label,
            mechanism=mechanism,
            parties=tuple(sorted(sites)),
            quorum=self.quorum_of(listed),
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

    A new training starts at the untrained parameters of site `own`, with the public network `encoder`. It
    goes on without parties that cannot be reached or are about to train something else, if a quorum is left;
    the store has the reason for each.

    Raises:
        OstrakaError: `run.mismatch` if the folder contains a training with other options; the error of `own`,
            if it cannot take part; `quorum.lost` if too many other parties cannot.
    """
    found = TrainingStore.load(folder)
    if found is None:
        first, failed = _join(parties, own, options.kind, task)
        joined = sorted(set(parties) - set(failed))
        quorum = options.quorum_of(len(parties))
        if failed and len(joined) < quorum:
            raise quorum_lost(len(joined), quorum, failed)
        mechanism = options.mechanism(first.model, len(first.untrained))
        plan = options.plan(mechanism, task, joined, len(parties), encoder, nonce)
        for site, error in failed.items():
            structlog.get_logger().warning("training.left_out", party=site, problem=error.message)
        left_out = {site: error.message for site, error in failed.items()}
        progress = TrainingProgress(plan=plan.serialize().hex(), left_out=left_out)
        return TrainingStore.create(folder, progress, AveragedModel.starting_at(first.untrained))
    stored = found.plan
    assert isinstance(stored.mechanism, JointTraining)  # noqa: S101 - this wrote it
    recipe = stored.mechanism.recipe
    mechanism = options.mechanism(recipe.model, recipe.parameters)
    left_out = found.progress.left_out
    listed = len(stored.parties) + len(left_out)
    asked = options.plan(mechanism, task, sorted(set(parties) - set(left_out)), listed, encoder, stored.nonce)
    if asked != stored:
        names = [name for name in Plan.model_fields if getattr(asked, name) != getattr(stored, name)]
        raise OstrakaError(
            ErrorCode.RUN_MISMATCH,
            f"{folder} holds a training with other {', '.join(names)}: repeat its options to go on with it,"
            " or name another --out folder.",
        )
    return found


def _join(
    parties: Mapping[str, TrainingPeer], own: str, kind: str, task: Task
) -> tuple[JoinedParty, dict[str, OstrakaError]]:
    """Return what party `own` is about to train, and the errors of parties that do not join it."""
    several = asyncio.Semaphore(JOIN_AT_ONCE)

    async def ask(site: str, check: Callable[[JoinHeader], None] = lambda _: None) -> JoinedParty:
        await parties[site].probe()
        found = await parties[site].join(kind, check)
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

    try:
        first = run_async(ask(own))
    except OstrakaError as error:
        raise OstrakaError(error.code, f"{own}: {error.message}", **error.details) from error
    others = sorted(set(parties) - {own})
    return first, failures(run_async(ask_all(others, ask_alike)))
