"""Fields of a plan, each checked separately."""

from collections.abc import Iterable
from typing import Annotated, Literal

from pydantic import Field, StringConstraints, field_validator

from ostraka.common.mechanism import JointTraining, Mechanism, Value
from ostraka.common.plan.choices import BALLOTS, BASE_TRANSFERS, ENCODING, NOISE, TALLY, VARIANT
from ostraka.common.sharing.ballots import LabelCounts
from ostraka.common.sharing.modulus import Modulus
from ostraka.common.sharing.prime_field import PrimeField
from ostraka.common.sharing.ring import Ring

RING_BITS = Literal[31, 32, 61, 64]
VERIFIED_BITS: tuple[Literal[31], Literal[61]] = (31, 61)
"""Bits of the primes 2^bits - 1 in which ballots are verified."""
SUM_DIGITS = 12
"""Number of digits per value of a verified sum over 20 million records; each is a separate element."""
NONCE_BYTES = 16
DIGEST_BYTES = 32
_UINT32 = 2**32 - 1
"""The largest number that fits into the message field."""
MAX_CLASSES = 65_536
"""Maximum number of classes, or labels, of a task and thus of a plan: sites examine each of them."""

Count = Annotated[int, Field(gt=0, le=_UINT32)]
Site = Annotated[str, StringConstraints(pattern=r"^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$")]


class PlanFields(Value):
    """What a querying party asks for; mirrors `ostraka.v1.Plan`."""

    nonce: Annotated[bytes, Field(min_length=NONCE_BYTES, max_length=NONCE_BYTES)]
    task_digest: Annotated[bytes, Field(min_length=DIGEST_BYTES, max_length=DIGEST_BYTES)]
    classes: Annotated[int, Field(ge=1, le=MAX_CLASSES)]
    mechanism: Mechanism
    parties: Annotated[tuple[Site, ...], Field(min_length=1, strict=False)]
    quorum: Count
    queries: Count
    batch_size: Count
    multi_label: bool = False
    tally: TALLY = "aggregate"
    encoding: ENCODING = "plain"
    base_transfers: BASE_TRANSFERS = "ed25519"
    ring_bits: RING_BITS = 64
    fraction_bits: Literal[16] = 16
    adjacency: Literal["record", "label"] = "record"
    variant: VARIANT = "none"
    encoder: Annotated[str, StringConstraints(pattern=r"^([\w.]+:\w+)?$")] = ""
    encoder_sha256: Annotated[bytes, Field(max_length=DIGEST_BYTES)] = b""
    labels: Annotated[tuple[Annotated[int, Field(ge=0, le=_UINT32)], ...], Field(strict=False)] = ()

    @field_validator("parties")
    @classmethod
    def _require_sorted(cls, parties: tuple[str, ...]) -> tuple[str, ...]:
        if list(parties) != sorted(set(parties)):
            raise ValueError("name every party once, in sorted order")
        return parties

    @field_validator("labels")
    @classmethod
    def _rising(cls, labels: tuple[int, ...]) -> tuple[int, ...]:
        if list(labels) != sorted(set(labels)):
            raise ValueError("name every label once, in rising order")
        return labels

    @property
    def modulus(self) -> Modulus:
        """The modulus of shared ballots: 2^ring_bits, or the prime 2^ring_bits - 1 if they are verified."""
        return PrimeField(self.ring_bits) if self.ballots == "verified" else Ring(self.ring_bits)

    @property
    def ballots(self) -> BALLOTS:
        """Whether the guardian and the querying party verify every ballot, or add ballots unverified."""
        return "verified" if self.ring_bits in VERIFIED_BITS else "unverified"

    @property
    def value_bytes(self) -> int:
        """Number of bytes of a value in a party's share; approximate if it is shared as digits."""
        digits = SUM_DIGITS if self.ballots == "verified" and self.mechanism.sums_records else 1
        return self.modulus.element_bytes * digits

    @property
    def noise(self) -> NOISE:
        """Who draws the noise."""
        return "guardian" if self.mechanism.relied_on is None else "parties"

    @property
    def colluders(self) -> int:
        """Number of parties that may collude without knowing the noise that is relied on; 0: the guardian's.

        One more party of the quorum is not relied on, because the querying party's own site may be in the
        quorum.
        """
        relied_on = self.mechanism.relied_on
        return 0 if relied_on is None else self.quorum - 1 - relied_on

    @property
    def noise_growth(self) -> float:
        """Factor by which the noise is wider than the mechanism says if all parties answer."""
        return self.mechanism.noise_growth(len(self.parties))

    @property
    def checks_row_sums(self) -> bool:
        """Whether the rows of shares are compared with the number of voters when a batch is frozen.

        Rows that contain a party's noise do not sum to its votes.
        """
        plain = (self.ballots, self.encoding, self.noise) == ("unverified", "plain", "guardian")
        return plain and self.mechanism.ballot.one_choice

    @property
    def is_training(self) -> bool:
        """Whether its queries are rounds of a training."""
        return isinstance(self.mechanism, JointTraining)

    @property
    def releases_sums(self) -> bool:
        """Whether its queries are rounds that each release one sum: of updates, or over records."""
        return not self.mechanism.labels_queries

    @property
    def counts_by_label(self) -> bool:
        """Whether each label has a count of its own: ballots with one count per label."""
        return isinstance(self.mechanism.ballot, LabelCounts)

    def columns_of(self, labels: Iterable[int]) -> tuple[int, ...]:
        """Return the columns of ballots and answers for these labels of the task, in ascending order.

        Labels that are not asked for have no columns, and sums over records have none either.
        """
        if self.mechanism.sums_records:
            return ()
        column = {label: at for at, label in enumerate(self.labels or range(self.classes))}
        return tuple(sorted(column[label] for label in labels if label in column))
