"""The querying party's side of verified ballots: its part of every party's proof."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from ostraka.common.identity import Credentials
from ostraka.common.verified.expansion import commitment_to
from ostraka.common.verified.parts import AnyPart, context_of
from ostraka.common.verified.querier import Point, message
from ostraka.common.wire.contexts import EVALUATION_CONTEXT
from ostraka.protos.ostraka.v1 import common_pb2, guardian_pb2


@dataclass(frozen=True)
class Verification:
    """The message to the guardian before it freezes a batch's set; the same bytes at every attempt.

    Attributes:
        session_id: of the batch.
        batch_id: unique in the session.
        point_seed: of the evaluation point, which parties do not see before ballots are verified.
        parties: by site, the commitment to its seed and this side's verifier share.
        evaluation: session, batch and point seed, signed, so parties with refused ballots attest only at this
            point.
    """

    session_id: str
    batch_id: int
    point_seed: bytes = field(repr=False)
    parties: Mapping[str, tuple[bytes, bytes]] = field(repr=False)
    evaluation: common_pb2.Signed | None = field(default=None, repr=False)

    @classmethod
    def of(
        cls,
        batch: tuple[str, int],
        point_seed: bytes,
        parts: Mapping[str, tuple[AnyPart, ...]],
        seeds: Mapping[str, bytes],
    ) -> "Verification":
        """Return the verification of a batch, from the seeds that parties sent.

        Args:
            batch: session and batch id.
            point_seed: 32 fresh random bytes.
            parts: what each party proves, by site.
            seeds: of the parties that answered.
        """
        point = Point(point_seed)
        parties = {}
        for site, seed in seeds.items():
            context = context_of(*batch, site)
            layouts = [part.layout for part in parts[site]]
            parties[site] = commitment_to(context, seed), message(layouts, context, seed, point)
        return cls(*batch, point_seed, parties)

    def sign(self, credentials: Credentials) -> "Verification":
        """Return a copy with a signed evaluation."""
        told = common_pb2.Evaluation(
            session_id=self.session_id, batch_id=self.batch_id, point_seed=self.point_seed
        )
        return replace(self, evaluation=credentials.sign(EVALUATION_CONTEXT, told.SerializeToString()))

    def message(self) -> guardian_pb2.VerifyBallotsWholeRequest:
        """Return the verification as one message."""
        header = guardian_pb2.VerificationHeader(
            session_id=self.session_id,
            batch_id=self.batch_id,
            point_seed=self.point_seed,
            evaluation=self.evaluation,
        )
        parties = [
            guardian_pb2.PartyVerification(site=site, commitment=commitment, share=share)
            for site, (commitment, share) in sorted(self.parties.items())
        ]
        return guardian_pb2.VerifyBallotsWholeRequest(header=header, parties=parties)

    def messages(self) -> Iterator[guardian_pb2.VerifyBallotsRequest]:
        """Yield the verification as a stream: header, then one message per party."""
        whole = self.message()
        yield guardian_pb2.VerifyBallotsRequest(header=whole.header)
        for party in whole.parties:
            yield guardian_pb2.VerifyBallotsRequest(party=party)
