"""Parties of a history: which records they have, how they group them, and what they declare."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

from ostraka.common.mechanism.message import mechanism_message
from ostraka.common.wire.contexts import MANIFEST_CONTEXT, RECEIPTS_CONTEXT
from ostraka.guardian.ledger import StoredManifest
from ostraka.protos.ostraka.v1 import common_pb2, guardian_pb2
from tests.chaos.histories.truth import Batch, Record
from tests.chaos.members import TASK, members

NAMES = ("all", "high", "low", "mid")
_RECORDS = 4
"""Number of distinct records per party; records that are always together pay alike."""
_TEACHERS = 5


@dataclass(frozen=True)
class Declared:
    """What a party's manifest says.

    Attributes:
        groups: the group of each record that its teachers were trained on.
        votes: votes of one person in a query.
        copies: number of teachers that a record affects; more than 1 if teachers are mixed.
        mixed: whether teachers were trained on records of all groups.
        version: version of the training, so that no two manifests are the same.
    """

    groups: dict[int, str]
    votes: int = 1
    copies: int = 1
    mixed: bool = False
    version: int = 0

    @property
    def names(self) -> list[str]:
        """The names of its groups, in order."""
        return sorted(set(self.groups.values()))

    def message(self, site: str) -> common_pb2.Manifest:
        """Return the manifest."""
        sizes = list(self.groups.values())
        groups = [
            common_pb2.Group(
                name=name, records=10 * sizes.count(name), teachers=_TEACHERS, copies=self.copies
            )
            for name in self.names
        ]
        return common_pb2.Manifest(
            site=site,
            task_digest=TASK,
            groups=groups,
            max_votes_per_person=self.votes,
            mixed=self.mixed,
            training=f"training {self.version}",
            head="linear",
        )

    def __str__(self) -> str:
        """Return its groups with their records, and how they vote."""
        members_of = {name: [n for n, group in self.groups.items() if group == name] for name in self.names}
        mixed = f", mixed, {self.copies} copies" if self.mixed else ""
        return f"{members_of}, {self.votes} votes a person{mixed}"


@dataclass
class Site:
    """A party.

    Attributes:
        name: its site.
        declared: its manifest.
        at: the group of every record; the last group of records that no teacher is trained on any more.
        receipts: receipts of every batch that it voted on.
        declared_votes: votes of one person in its manifests, in order.
        away: whether a restored ledger waits for its receipts.
    """

    name: str
    declared: Declared
    at: dict[Record, str] = field(default_factory=dict)
    receipts: list[common_pb2.Receipt] = field(default_factory=list)
    declared_votes: list[int] = field(default_factory=list)
    away: bool = False

    def __post_init__(self) -> None:
        self.declare(self.declared)

    def declare(self, declared: Declared) -> None:
        """Serve other teachers from now on."""
        self.declared = declared
        if self.declared_votes[-1:] != [declared.votes]:
            self.declared_votes.append(declared.votes)
        self.at |= {Record(self.name, number): group for number, group in declared.groups.items()}

    def registration(self) -> guardian_pb2.RegisterRequest:
        """Return the request that registers its manifest."""
        signed = members().party(self.name).sign(MANIFEST_CONTEXT, self.stored().manifest)
        return guardian_pb2.RegisterRequest(manifest=signed)

    def stored(self) -> StoredManifest:
        """Return its manifest as a ledger has it, without its signature."""
        return StoredManifest(self.name, self.declared.message(self.name).SerializeToString(), b"")

    def reconciliation(self) -> guardian_pb2.ReconcileRequest:
        """Return the request that sends a guardian all receipts."""
        told = common_pb2.Receipts(
            site=self.name, receipts=self.receipts, declared_votes=self.declared_votes
        ).SerializeToString()
        return guardian_pb2.ReconcileRequest(receipts=members().party(self.name).sign(RECEIPTS_CONTEXT, told))

    def answer(self, batch: Batch) -> None:
        """Keep the receipts of a batch that it votes on."""
        for group in self.declared.names:
            vote = batch.vote(self.name, group)
            if vote is not None:
                self.receipts.append(
                    common_pb2.Receipt(
                        session_id=batch.session,
                        batch_id=batch.number,
                        group=group,
                        mechanism=mechanism_message(batch.plan.mechanism),
                        classes=batch.plan.classes,
                        adjacency=batch.plan.adjacency,
                        queries=int(vote.queries.sum()),
                        sensitivity=batch.sensitivity(vote, self.declared.votes),
                    )
                )


def first(draws: random.Random) -> Declared:
    """Draw what a party declares first."""
    names = draws.choice([("all",), ("all",), ("high", "low")])
    mixed = draws.random() < 0.3
    copies = draws.choice([1, 2]) if mixed else 1
    return Declared({number: names[number % len(names)] for number in range(_RECORDS)}, 1, copies, mixed)
