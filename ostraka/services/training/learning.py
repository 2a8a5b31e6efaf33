"""Joint training at a party: what its teachers learn, and which sessions they join."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Self

import numpy as np
from numpy.typing import NDArray
from torch import nn

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.identity import Identity
from ostraka.common.learning.device import HOST, Device
from ostraka.common.mechanism import JointTraining, Recipe
from ostraka.common.task import Task
from ostraka.protos.ostraka.v1 import common_pb2
from ostraka.services.admission.grants import GrantedSession
from ostraka.services.admission.manifest_terms import declaration
from ostraka.services.admission.policy import PartyPolicy
from ostraka.services.admission.request_checks import RequestTerms
from ostraka.services.teachers.ensemble import Ensemble
from ostraka.services.teachers.joint_training import JointTeachers, first_parameters, require_usable
from ostraka.services.teachers.nets import Networks
from ostraka.services.teachers.preparation import Prepared


@dataclass(frozen=True)
class JointLearning:
    """Teachers that are about to be trained jointly.

    Attributes:
        prepared: their records, and the manifest of the future teachers.
        device: where they learn.
        manifest: the declaration for the guardian.
        terms: which sessions are answered.
    """

    prepared: Prepared
    device: Device
    manifest: common_pb2.Manifest = field(repr=False)
    terms: RequestTerms = field(repr=False)

    @classmethod
    def of(
        cls,
        prepared: Prepared,
        task: Task,
        policy: PartyPolicy,
        site: str,
        votes_per_person: int,
        device: Device = HOST,
    ) -> Self:
        """Return a site's prepared teachers, with its operator's terms.

        Raises `config.invalid` for settings that only apply to separate training.
        """
        require_usable(prepared.config)
        known = prepared.manifest
        manifest = declaration(known, site, votes_per_person)
        return cls(prepared, device, manifest, RequestTerms.of(task, policy, known, votes_per_person))

    @property
    def kind(self) -> str:
        """The mechanism of the training."""
        return self.prepared.manifest.together.replace("-", "_")

    @cached_property
    def untrained(self) -> NDArray[np.float32]:
        """Parameters (d,) of an untrained network, which depend only on the seed."""
        known = self.prepared.manifest
        return first_parameters(known.model, known.shape, known.classes, known.seed)

    def check_kind(self, kind: str) -> None:
        """Raise `plan.invalid` unless this party's teachers learn by a mechanism of this kind."""
        if kind != self.kind:
            raise _unfit(f"is by {kind} and this party trains by {self.kind}", "--training")

    def check(self, session: GrantedSession, querier: Identity) -> JointTraining:
        """Return the mechanism of a session; raise unless these teachers may join it.

        Raises:
            OstrakaError: `policy.refused`, `task.mismatch` or `ticket.invalid` as `RequestTerms.check`,
                `plan.invalid` for another kind or network, or if the lead is not a party of the plan.
        """
        self.terms.check(session, querier)
        mechanism = session.plan.mechanism
        self.check_kind(mechanism.kind)
        assert isinstance(mechanism, JointTraining)  # noqa: S101 - of this party's kind
        asked = mechanism.recipe
        own = self.prepared.manifest.model
        if (asked.model, asked.parameters) != (own, len(self.untrained)):
            raise _unfit(
                f"is of {asked.model} with {asked.parameters} parameters and this party trains {own} with "
                f"{len(self.untrained)}",
                "--model",
            )
        if querier.site not in session.plan.parties:
            raise OstrakaError(
                ErrorCode.PLAN_INVALID,
                f"{querier.site} leads a training that it takes no part in: let a party lead that does.",
            )
        return mechanism

    def teachers(self, recipe: Recipe) -> JointTeachers:
        """Return the teachers with this recipe."""
        known = self.prepared.manifest
        config = self.prepared.config
        return JointTeachers(self.prepared.slices, known.model, known.classes, config, recipe, self.device)

    def ensemble(self, nets: Sequence[nn.Module]) -> Ensemble:
        """Return the ensemble to serve, from the teachers' trained networks."""
        known = self.prepared.manifest
        return self.prepared.ensemble(Networks.of(known.model, known.shape, nets, self.device))


def _unfit(problem: str, option: str) -> OstrakaError:
    return OstrakaError(
        ErrorCode.PLAN_INVALID,
        f"The training {problem}: give all parties the same {option} and the same task.",
    )
