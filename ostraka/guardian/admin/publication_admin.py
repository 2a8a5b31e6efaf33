"""Publishing what a unit has spent under theorem6, with noise by smooth sensitivity."""

import math
from collections.abc import Mapping
from contextlib import suppress

import grpc

from ostraka.common.clock import Clock
from ostraka.common.config import NoiseName
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.identity import Credentials
from ostraka.common.privacy import AMOUNT_UNIT, InputError, epsilon
from ostraka.common.privacy.filters import GAUSSIAN
from ostraka.common.sharing import FRACTION_BITS
from ostraka.common.wire.contexts import PUBLICATION_CONTEXT
from ostraka.guardian.accounting.smooth_noise import MIN_SCALE, SmoothNoise
from ostraka.guardian.admin import requests
from ostraka.guardian.admin.admin_base import AdminPart
from ostraka.guardian.ledger import Budget, Ledger, UnitKey
from ostraka.guardian.ledger.transaction import ATTEMPTS
from ostraka.guardian.ledger.units import kept_totals, publications
from ostraka.guardian.ledger.units.kept_totals import UnitTotal
from ostraka.guardian.ledger.units.publications import OutdatedError, Publication
from ostraka.guardian.noise import MAX_SCALE, NoiseSource
from ostraka.guardian.policy import Policies
from ostraka.protos.ostraka.v1 import admin_pb2, common_pb2


class Publishing(AdminPart):
    """Publishes epsilons; each is drawn and charged once."""

    def __init__(
        self,
        ledger: Ledger,
        policies: Policies,
        credentials: Credentials,
        clock: Clock,
        noise_name: NoiseName,
        noise: NoiseSource,
    ) -> None:
        super().__init__(ledger, policies, credentials, clock, noise_name)
        self._noise = noise

    def PublishEpsilon(
        self, request: admin_pb2.PublishEpsilonRequest, context: grpc.ServicerContext
    ) -> admin_pb2.PublishEpsilonReply:
        """Publish a unit's total, or return the publication of the same state."""
        key = requests.unit_key(request.party, request.group, request.adjacency)
        reason = requests.reason(request.reason)
        for _ in range(ATTEMPTS):
            with suppress(OutdatedError):
                return self._publish(context, key, request.beta, request.sigma, reason)
        raise OstrakaError(
            ErrorCode.LEDGER_LOCKED,
            "The value to publish kept changing before it was published; nothing was charged, so ask again.",
        )

    def _publish(
        self, context: grpc.ServicerContext, key: UnitKey, beta: float, sigma: float, reason: str
    ) -> admin_pb2.PublishEpsilonReply:
        """Publish the current state; raises OutdatedError if it changes before it is charged."""
        total = self._ledger.read(kept_totals.total_of, key)
        before = self._ledger.read(publications.find, total.state)
        if before is not None:
            return _reply(before, again=True)
        _check_filters(total)
        noise = _noise(total, beta, sigma)
        try:
            charges = {payer.key: noise.cost(payer.order) for payer in total.payers}
        except InputError as exc:
            raise requests.invalid(
                f"This beta and sigma bound nothing at the order of a budget: {exc}"
            ) from exc
        _check_worth(total, charges[total.budget.key])
        made = Publication(
            unit=key,
            state=total.state,
            votes=total.votes,
            statement=self._statement(total, noise, charges),
            beta=noise.beta,
            sigma=noise.sigma,
            charges=charges,
            reason=reason,
        )
        stored = self._write(context, publications.publish, made)
        return _reply(stored, again=stored != made.statement)

    def _statement(self, total: UnitTotal, noise: SmoothNoise, charges: Mapping[UnitKey, int]) -> bytes:
        """Draw the noise, and return the signed statement; nobody sees it before it is charged and stored."""
        budget = total.budget
        drawn = noise.publish(total.spent, total.changes, self._draw)
        paid = total.published + charges[budget.key]
        own = self._ledger.read(kept_totals.alike, total)
        published = admin_pb2.PublishedEpsilon(
            units=[_payer_message(payer, charges[payer.key], payer.key in own) for payer in total.payers],
            epsilon=_epsilon(min(max(drawn, 0), total.worst) + paid, budget),
            delta=budget.delta,
            order=budget.order,
            epsilon_worst_case=_epsilon(total.worst + paid, budget),
            beta=noise.beta,
            sigma=noise.sigma,
            batches=total.batches,
            time_unix_ms=int(self._clock.now() * 1000),
            bound="theorem6",
            state=total.state,
        )
        payload = published.SerializeToString(deterministic=True)
        return self._credentials.sign(PUBLICATION_CONTEXT, payload).SerializeToString(deterministic=True)

    def _draw(self, scale: float) -> int:
        """Return a discrete Gaussian of a scale in amounts; the source counts in steps of 2^-16."""
        return int(self._noise.gaussian(math.ldexp(scale, -FRACTION_BITS), (1,))[0])


def _check_filters(total: UnitTotal) -> None:
    """Raise `policy.refused` if a unit pays whose filter has no known price of publishing."""
    for payer in total.payers:
        if payer.order == GAUSSIAN:
            raise OstrakaError(
                ErrorCode.POLICY_REFUSED,
                f"The budget of {payer.key} has a Gaussian filter, and nobody knows what publishing costs it;"
                " publish of votes alone whose units all have a Renyi filter.",
            )


def _check_worth(total: UnitTotal, price: int) -> None:
    """Raise `policy.refused` if the worst case, which is public, is no more than the price."""
    if price >= total.worst:
        raise OstrakaError(
            ErrorCode.POLICY_REFUSED,
            f"Publishing costs {total.budget.key} an rdp of {price * AMOUNT_UNIT:.3g}, and all that it has"
            f" spent is {total.worst * AMOUNT_UNIT:.3g} at worst, which may be told for nothing; publish"
            " after more releases, or with a larger sigma.",
        )


def _noise(total: UnitTotal, beta: float, sigma: float) -> SmoothNoise:
    """Return the requested noise; missing parameters are chosen by the orders alone."""
    if not (0 <= beta < math.inf and 0 <= sigma < math.inf):
        raise requests.invalid("Beta and sigma must be finite numbers above 0, or 0 for the default")
    chosen = SmoothNoise.by_order(max(payer.order for payer in total.payers))
    noise = SmoothNoise(beta or chosen.beta, sigma or chosen.sigma)
    # No change of a total exceeds its worst case, which is public: this refusal reveals no vote.
    if noise.sigma * max(total.worst, MIN_SCALE) > MAX_SCALE:
        raise requests.invalid(
            "With so much noise the result says nothing about this unit's cost; give a smaller sigma"
        )
    return noise


def _payer_message(payer: Budget, charged: int, own: bool) -> admin_pb2.PublishedUnit:
    return admin_pb2.PublishedUnit(
        party=payer.key.party,
        group=payer.key.group,
        adjacency=payer.key.adjacency,
        own=own,
        rdp=charged * AMOUNT_UNIT,
        order=payer.order,
    )


def _reply(statement: bytes, *, again: bool) -> admin_pb2.PublishEpsilonReply:
    signed = common_pb2.Signed.FromString(statement)
    published = admin_pb2.PublishedEpsilon.FromString(signed.payload)
    return admin_pb2.PublishEpsilonReply(published=published, statement=signed, again=again)


def _epsilon(spent: int, budget: Budget) -> float:
    return epsilon(spent * AMOUNT_UNIT, budget.order, budget.delta)
