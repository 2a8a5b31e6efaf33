"""One open batch in memory: its shares until release, and the party set once frozen."""

import hashlib
import hmac
import math
import threading
from collections.abc import Collection
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.plan.plan import Plan
from ostraka.common.sharing.modulus import Modulus, RingArray
from ostraka.common.sharing.shares import RowSums
from ostraka.guardian.blind.blind_tally import BlindTally
from ostraka.guardian.ledger import UnitKey
from ostraka.guardian.noise import DrawnNoise
from ostraka.guardian.sessions.cohorts import Attendance
from ostraka.guardian.sessions.outcome import Outcome
from ostraka.guardian.sessions.verified_ballots import VerifiedBallots
from ostraka.protos.ostraka.v1 import common_pb2


@dataclass(frozen=True)
class Share:
    """One sender's ring elements (rows x width), a student's scores if they came along, and their digest."""

    values: RingArray = field(repr=False)
    sha256: bytes
    scores: NDArray[np.int64] | None = field(repr=False, default=None)

    @classmethod
    def of(cls, values: RingArray, scores: NDArray[np.int64] | None = None) -> "Share":
        """Return the share of `values`, rows x width, and `scores`, rows x classes in units of 2^-16."""
        digest = hashlib.sha256(repr(values.shape).encode() + values.tobytes())
        if scores is not None:
            digest.update(repr(scores.shape).encode() + scores.tobytes())
        return cls(values, digest.digest(), scores)

    def same(self, other: "Share") -> bool:
        """Whether both carry the same bytes."""
        return hmac.compare_digest(self.sha256, other.sha256)


@dataclass
class Batch:
    """Shares of one batch. Guard every use with `lock`; shares never leave memory.

    Attributes:
        ticket: the signed ticket's contents.
        attendance: who votes on which query by the ticket.
        units: those that its release is charged to, if their parties are frozen.
        noise: the randomness of its release, drawn ahead.
        release_by: Unix seconds after which it is dead although its party set is frozen.
        ends_at: Unix seconds after which nothing of its session is answered.
        lock: held while anything below is read or changed.
        shares: what came, by site.
        frozen: the party set, once fixed.
        request: the one sum that the querying party sent.
        outcome: what was drawn for it; a retry gets the same.
        verified: its ballots until they are verified, where the plan asks for that.
        refused: whose ballots are no votes.
        noted: those of them whom the audit log names.
        rows_checked: of whose ballots the row sums were checked.
        blind: its tally instead of a sum and an outcome, where nobody here sees the histogram.
        released: whether a blind tally's answers are charged, so that only retries are to come.
    """

    ticket: common_pb2.Ticket
    attendance: Attendance
    noise: DrawnNoise
    units: frozenset[UnitKey] = frozenset()
    release_by: float = math.inf
    ends_at: float = math.inf
    lock: threading.Lock = field(default_factory=threading.Lock)
    shares: dict[str, Share] = field(default_factory=dict)
    frozen: frozenset[str] | None = None
    request: Share | None = None
    outcome: Outcome | None = None
    verified: VerifiedBallots | None = None
    refused: frozenset[str] = frozenset()
    noted: frozenset[str] = frozenset()
    rows_checked: frozenset[str] = frozenset()
    blind: BlindTally | None = None
    released: bool = False

    @property
    def dies_at(self) -> float:
        """Unix seconds after which it is dead, or after its release no longer kept for retries."""
        if self.released:
            return self.ends_at
        return self.ticket.expires_unix_ms / 1000 if self.frozen is None else self.release_by

    @cached_property
    def scheduled(self) -> frozenset[str]:
        """The parties of the ticket."""
        return frozenset(schedule.participant.site for schedule in self.ticket.schedule)

    def check_scheduled(self, site: str) -> None:
        """Raise `ticket.invalid` for a site that does not vote in this batch."""
        if site not in self.scheduled:
            raise OstrakaError(ErrorCode.TICKET_INVALID, f"Site {site} is not scheduled for this batch.")

    def check_awaited(self, site: str) -> None:
        """Raise `batch.frozen` where the party set is frozen without `site`."""
        if self.frozen is not None and site not in self.frozen:
            raise OstrakaError(
                ErrorCode.BATCH_FROZEN, "The party set of this batch is frozen; what you send came too late."
            )

    def submit(self, site: str, share: Share) -> None:
        """Keep `site`'s share; the same bytes again are accepted.

        Raises:
            OstrakaError: `ticket.invalid` if the site is not scheduled, `batch.altered` for other
                bytes, `batch.frozen` when the party set is frozen without this site.
        """
        self.check_scheduled(site)
        kept = self.shares.get(site)
        if kept is not None:
            if not kept.same(share):
                raise OstrakaError(
                    ErrorCode.BATCH_ALTERED,
                    "This batch already holds another share of yours; a retry must send the same bytes.",
                )
        else:
            self.check_awaited(site)
            self.shares[site] = share

    def require_verified(self) -> VerifiedBallots:
        """Return the batch's verified ballots; raise `batch.out_of_order` where its plan has none."""
        if self.verified is None:
            raise OstrakaError(
                ErrorCode.BATCH_OUT_OF_ORDER,
                "Ballots of this session are not verified; send SubmitBallots and Prepare alone.",
            )
        return self.verified

    def check_rows(self, row_sums: RowSums, ring: Modulus) -> None:
        """Refuse parties whose two shares do not sum, on each query, to their votes; each is checked once."""
        if self.frozen is None:
            now = frozenset(row_sums.digests).intersection(self.shares) - self.rows_checked
            self.rows_checked |= now
            self.refused |= {site for site in now if not self._has_rows(site, row_sums, ring)}

    def freeze(self, held: Collection[str], quorum: int, *, due: bool) -> frozenset[str] | None:
        """Freeze the parties whose shares both sides hold, or None while others may still come.

        Args:
            held: sites whose shares the querying party holds.
            quorum: the least number of frozen parties that must vote on each query, and on each label that
                any of them votes on.
            due: whether the ticket's freeze time has come.

        Raises:
            OstrakaError: `quorum.lost` when the time has come and too few are in, `batch.out_of_order` where
                ballots are yet to be verified. Once they are nothing more can come, and the time has.
        """
        if self.frozen is None:
            if self.verified is not None and not self.verified.verified:
                raise OstrakaError(
                    ErrorCode.BATCH_OUT_OF_ORDER,
                    "The ballots of this batch are yet to be verified; send VerifyBallots before this.",
                )
            due = due or self.verified is not None
            both = (frozenset(self.shares) & frozenset(held)) - self.refused
            if both != self.scheduled - self.refused and not due:
                return None
            fewest = self.attendance.of(both).fewest_parties()
            if fewest < quorum:
                raise OstrakaError(
                    ErrorCode.QUORUM_LOST,
                    f"Some query or label has votes of only {fewest} of the {quorum} parties that the quorum"
                    " asks for;"
                    " ask again when more parties are up.",
                )
            self.frozen = both
        return self.frozen

    def total(self, request: Share, ring: Modulus) -> RingArray:
        """Return the sum in `ring` of the frozen parties' shares and the querying party's one sum.

        Raises:
            OstrakaError: `batch.not_frozen`, or `batch.altered` for another sum than the first.
        """
        frozen = self._require_frozen()
        if self.request is None:
            self.request = request
        elif not self.request.same(request):
            raise OstrakaError(
                ErrorCode.BATCH_ALTERED,
                "Another sum was sent for this batch before; a retry must send the same.",
            )
        return ring.sum([request.values, *self._halves(frozen)])

    def blind_tally(self, plan: Plan) -> BlindTally:
        """Return the batch's blind tally under its session's `plan`; raises `batch.not_frozen`."""
        frozen = self._require_frozen()
        if self.blind is None:
            self.blind = BlindTally(
                plan=plan,
                session_id=self.ticket.session_id,
                batch_id=self.ticket.batch_id,
                sums=plan.modulus.sum(self._halves(frozen)),
                totals=self.attendance.of(frozen).totals(),
                noise=self.noise,
            )
        return self.blind

    def _has_rows(self, site: str, row_sums: RowSums, ring: Modulus) -> bool:
        return row_sums.match(site, self.shares[site].values, self.attendance.totals_of(site), ring)

    def _halves(self, frozen: frozenset[str]) -> list[RingArray]:
        return [self.shares[site].values for site in sorted(frozen)]

    def _require_frozen(self) -> frozenset[str]:
        if self.frozen is None:
            raise OstrakaError(
                ErrorCode.BATCH_NOT_FROZEN, "The party set is not frozen yet; send Prepare before this."
            )
        return self.frozen
