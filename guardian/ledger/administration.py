"""Changes of a ledger by administrators and parties, outside sessions."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Sequence
from contextlib import AbstractContextManager

from ostraka.guardian.ledger import budgets, parties, policies, reconcile, revocations, session_close
from ostraka.guardian.ledger.reader import LedgerReader
from ostraka.guardian.ledger.transaction import Transaction, retried
from ostraka.guardian.ledger.values import Budget, Owed, Registered, StoredParty, StoredPolicy, UnitKey
from ostraka.protos.ostraka.v1 import common_pb2


class Administration(LedgerReader, ABC):
    """Every method is one transaction with a row in the audit log, where reasons are kept.

    Whoever calls has verified the signatures of agreements, manifests, receipts and kept heads.
    """

    @abstractmethod
    def _write(self) -> AbstractContextManager[Transaction]:
        """Open a transaction behind the fence."""

    # Budgets

    @retried
    def set_budget(
        self,
        party: str,
        group: str,
        adjacency: str,
        epsilon: float,
        delta: float,
        order: float,
        enforce: str,
        *,
        level: str | None = None,
        reason: str = "",
    ) -> Budget:
        """Set a unit's budget once, or lower its epsilon; below what is spent nothing is left.

        `level` is the consent level whose epsilon this is. Without one the level stays while epsilon does.
        The administrator's `reason` may be empty.
        A new unit takes over what the party's other units have spent (`ostraka.guardian.ledger.carry_over`).

        Raises:
            OstrakaError: `budget.raise_refused` for a larger epsilon, `budget.already_set` for another
                delta, order or enforce, `message.invalid` for a new unit's order above one that other
                units have spent at.
            ValueError: a number out of range.
        """
        key = UnitKey(party, group, adjacency)
        with self._write() as tx:
            return budgets.set_budget(tx, key, epsilon, delta, order, enforce, level, reason)

    @retried
    def raise_budget(
        self,
        key: UnitKey,
        *,
        number: int,
        epsilon_before: float,
        epsilon: float,
        agreement: bytes,
        reason: str,
    ) -> Budget:
        """Raise a unit's budget from `epsilon_before` to `epsilon`, which breaks its lifetime guarantee.

        Args:
            key: the unit.
            number: how many agreements on this unit came before.
            epsilon_before: what the party's agreement says that epsilon is now.
            epsilon: larger.
            agreement: the party's Signed Agreement, serialized; kept in the audit log whole, so that an
                auditor can check it.
            reason: the administrator's.

        Raises:
            OstrakaError: `agreement.invalid` where `number` or an epsilon is off, `budget.missing`,
                `message.invalid` without a reason.
        """
        with self._write() as tx:
            return budgets.raise_budget(
                tx,
                key,
                number=number,
                epsilon_before=epsilon_before,
                epsilon=epsilon,
                agreement=agreement,
                reason=reason,
            )

    @retried
    def consent_again(self, key: UnitKey, *, number: int, agreement: bytes, reason: str) -> Budget:
        """Let a withdrawn unit take part again, by the party's agreement; arguments as in `raise_budget`.

        Raises:
            OstrakaError: `agreement.invalid` where `number` is off or nothing was withdrawn,
                `budget.missing`, `message.invalid` without a reason.
        """
        with self._write() as tx:
            return budgets.consent_again(tx, key, number=number, agreement=agreement, reason=reason)

    @retried
    def freeze(self, key: UnitKey, *, frozen: bool, reason: str) -> Budget:
        """Keep a unit from taking part in further batches, or let it again.

        Raises:
            OstrakaError: `agreement.invalid` for a withdrawn unit, `budget.missing`.
        """
        with self._write() as tx:
            return budgets.freeze(tx, key, frozen=frozen, reason=reason)

    @retried
    def withdraw(self, key: UnitKey, *, reason: str) -> Budget:
        """End a unit's participation from the next batch on; only its party can consent again.

        Raises:
            OstrakaError: `budget.missing`.
        """
        with self._write() as tx:
            return budgets.withdraw(tx, key, reason=reason)

    @retried
    def renew(self, keys: Collection[UnitKey], *, period_ms: int) -> None:
        """Start a new period for those units whose last one began `period_ms` or longer ago.

        What they spent moves to earlier periods and nothing is spent of the new one; reservations stay and
        are charged to it. The guarantee no longer covers the unit's lifetime.

        Raises:
            OstrakaError: `budget.missing`.
        """
        with self._write() as tx:
            budgets.renew(tx, keys, period_ms)

    # Parties

    @retried
    def set_party(self, site: str, state: str, *, reason: str) -> StoredParty:
        """Add, suspend, resume ("active") or remove a party; the same state again changes nothing.

        A party that is resumed before it ever registered is "added".

        Raises:
            OstrakaError: `party.removed` for a party that was, which is final; `party.suspended` for adding
                a suspended one; `party.unknown` for any state but "added" of a party never heard of.
            ValueError: an unknown state.
        """
        with self._write() as tx:
            return parties.set_party(tx, site, state, reason=reason)

    @retried
    def register(
        self,
        site: str,
        manifest: bytes,
        signed: bytes,
        *,
        kept_head: common_pb2.AuditHead | None = None,
        entering: Collection[str] = (),
        votes_raised_to: int | None = None,
    ) -> Registered:
        """Keep a party's manifest as its latest; the same again adds nothing. An added party becomes active.

        A `kept_head` that is not on this ledger's chain proves that the ledger lost history: unless the party
        must reconcile anyway, a new epoch begins, in which every open session has ended and every party
        reconciles before it votes.

        Args:
            site: the party.
            manifest: the serialized Manifest.
            signed: the Signed that it came in, serialized.
            kept_head: the latest head that the party kept, its guardian's signature verified.
            entering: groups that the party's manifest before did not have. Their units take over what
                the party's others have spent.
            votes_raised_to: how many votes one person has in a query, where that is more than the manifest
                before said: what the party's units have spent is costed again.

        Raises:
            OstrakaError: `party.removed`; `manifest.daily_limit` for one change too many in 24 hours.
        """
        with self._write() as tx:
            return parties.register(tx, site, manifest, signed, kept_head, entering, votes_raised_to)

    @retried
    def reconcile(self, site: str, owed: Sequence[Owed], *, groups: Collection[str] = ()) -> int:
        """Charge, at their worst case, the batches of a party's receipts that a restored ledger forgot.

        They count as data-dependent costs too, and go beyond the budget where it is too small. From then on
        the party is reconciled. Which receipts are charged is said in `ostraka.guardian.ledger.reconcile`;
        the same ones again are charged once.

        Args:
            site: the party.
            owed: what all its receipts say, not a part of them.
            groups: those of its manifest. Where a group that is none of them is charged, its records may be
                in these now, whose units take over what it has spent.

        Returns:
            How many were charged: one for each batch and unit.

        Raises:
            OstrakaError: `party.unknown`, `budget.missing` where a unit that owes has none.
            ValueError: a unit of another party, or an amount that is negative or no integer.
        """
        with self._write() as tx:
            return reconcile.reconcile(tx, site, owed, groups)

    # Policy, revocations and sessions

    @retried
    def apply_policy(self, toml: str, *, reason: str) -> StoredPolicy:
        """Put a policy, which the caller has parsed, into force; the same again changes nothing."""
        with self._write() as tx:
            return policies.apply(tx, toml, reason=reason)

    @retried
    def apply_revocations(self, pem: str, *, number: int, revoked: int, reason: str) -> None:
        """Record a revocation list, which the caller has verified; the one recorded last changes nothing."""
        with self._write() as tx:
            revocations.apply(tx, pem, number=number, revoked=revoked, reason=reason)

    @retried
    def cancel_session(self, session_id: str, *, reason: str) -> None:
        """End an open session; its batches without answers become dead.

        Raises:
            OstrakaError: `session.unknown`.
        """
        with self._write() as tx:
            session_close.cancel(tx, session_id, reason=reason)
