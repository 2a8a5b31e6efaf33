"""The figures of a federation for a data-protection impact assessment, as Markdown."""

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ostraka.common.console.texts import count_text, epsilon_text, number_text
from ostraka.common.errors import OstrakaError
from ostraka.common.privacy import InputError
from ostraka.common.privacy.guessing import best_guess, most_detected
from ostraka.guardian.admin.client import odd
from ostraka.guardian.admin.report import (
    ChargeReport,
    SessionCharge,
    budget_cells,
    policy_source,
    read_report,
)
from ostraka.guardian.admin.texts import budget_notion, minute, records_text, unit_text
from ostraka.guardian.policy import Policy, parse_policy
from ostraka.protos.ostraka.v1 import admin_pb2, admin_pb2_grpc

FALSE_ALARMS = 0.05
"""False-alarm rate of the test in the worked figures: one in twenty, the usual level in medicine."""
EVENTS: Mapping[str, str] = {
    "unit_withdrawn": "a group's consent was withdrawn",
    "unit_consented": "consent was given again, by an agreement that the party signed",
    "unit_frozen": "a unit was frozen",
    "budget_raised": "a budget was raised, by an agreement that the party signed",
    "budgets_renewed": "budgets began anew",
    "party_set": "an administrator added, suspended, resumed or removed a party",
    "revocations_applied": "a revocation list was applied",
    "policy_applied": "a policy was applied",
    "epsilon_published": "a data-dependent epsilon was published, with noise",
    "answers_dropped": "answers older than keep_answers_days were dropped",
    "restored": "the ledger was restored from a backup",
    "rollback_found": "a party's kept head showed an older ledger",
}
"""Rows of the audit log that an assessment counts, by kind; they do not depend on votes."""


@dataclass(frozen=True)
class Logged:
    """How often a kind of row is in the audit log, and its last time (unix milliseconds)."""

    times: int
    last_unix_ms: int


@dataclass(frozen=True)
class Assessment:
    """Every figure of the page.

    Attributes:
        charges: budgets, charges, policy and audit head.
        policy: the policy in force.
        parties: as they registered, or were added.
        sessions: number of sessions ever opened.
        queriers: the sites that opened them.
        logged: the kinds of `EVENTS` that occurred.
        tls: the least TLS version that the administrator's process accepts; the figures were read over it.
    """

    charges: ChargeReport
    policy: Policy
    parties: Sequence[admin_pb2.PartyInfo]
    sessions: int
    queriers: Sequence[str]
    logged: Mapping[str, Logged]
    tls: str


def read_assessment(
    stub: admin_pb2_grpc.AdminStub, federation: str, now_unix_ms: int, tls: str
) -> Assessment:
    """Read all figures from a guardian; the audit head is read last, so it covers everything before.

    Raises:
        OstrakaError: `message.invalid` if the guardian sends an impossible value.
    """
    logged: dict[str, Logged] = {}
    for row in stub.ExportAudit(admin_pb2.ExportAuditRequest()):
        kind = _kind(row)
        if kind in EVENTS:
            before = logged.get(kind, Logged(0, 0))
            logged[kind] = Logged(before.times + 1, row.time_unix_ms)
    parties = list(stub.ListParties(admin_pb2.ListPartiesRequest()))
    sessions = list(stub.ListSessions(admin_pb2.ListSessionsRequest()))
    charges = read_report(stub, federation, now_unix_ms, 0, 0)
    return Assessment(
        charges=charges,
        policy=_policy(charges.policy),
        parties=parties,
        sessions=len(sessions),
        queriers=sorted({session.querier for session in sessions}),
        logged=logged,
        tls=tls,
    )


def _kind(row: admin_pb2.AuditRow) -> str:
    try:
        return str(json.loads(row.payload)["kind"])
    except (ValueError, LookupError, TypeError) as error:
        raise odd(f"has an audit row {row.sequence} that is none") from error


def _policy(reply: admin_pb2.PolicyReply) -> Policy:
    try:
        return parse_policy(reply.toml)
    except OstrakaError as error:
        raise odd(f"has a policy that this version does not read ({error.message})") from error


@dataclass(frozen=True)
class Meaning:
    """What one budget means for one record: the bounds of `common.privacy.guessing`.

    Attributes:
        notion: what it protects.
        epsilon: of the budget.
        delta: of the budget.
        best_guess: upper bound on the rate of right guesses between two equally likely versions of a record.
        most_detected: upper bound on how often a test with `FALSE_ALARMS` detects a record.
    """

    notion: str
    epsilon: float
    delta: float
    best_guess: float
    most_detected: float


def meanings(budgets: Iterable[admin_pb2.Budget]) -> list[Meaning]:
    """Return the meaning of each distinct unconditional budget, the smallest epsilon first.

    Raises:
        OstrakaError: `message.invalid` for an impossible budget.
    """
    promised = filter(_is_promised, budgets)
    kinds = sorted({(budget.epsilon, budget.delta, budget_notion(budget)) for budget in promised})
    try:
        return [
            Meaning(
                notion,
                epsilon,
                delta,
                best_guess(epsilon, delta),
                most_detected(epsilon, delta, FALSE_ALARMS),
            )
            for epsilon, delta, notion in kinds
        ]
    except InputError as error:
        raise odd(f"lists budgets that nothing has ({error})") from error


def render_markdown(found: Assessment) -> str:
    """Return the page. Its headings are the headings of docs/dpia.md, to which it adds the figures."""
    report = found.charges
    sections = (
        ("What is processed, and by whom", _parties(found)),
        ("Budgets", _budgets(report)),
        ("What epsilon means for one patient", _meaning(report.budgets)),
        ("Releases so far", _releases(found)),
        ("Who may ask, and who may answer", _members(found)),
        ("Retention", _retention(found.policy)),
        ("Erasure and withdrawal", _changes(found.logged)),
        ("Security measures", _security(found)),
        ("Audit", _audit(report)),
    )
    lines = [
        f"# Data-protection impact assessment of {report.federation}: figures",
        "",
        f"Read from the guardian at {minute(report.made_unix_ms)} UTC. Every epsilon spent is a worst case"
        " and says nothing about votes. The headings are those of the example in Ostraka's documentation,"
        " dpia.md. Add the purpose, the legal bases and the decisions.",
    ]
    for heading, body in sections:
        lines += ["", f"## {heading}", "", *body]
    return "\n".join(lines) + "\n"


def _table(head: Sequence[str], rows: Iterable[Iterable[object]]) -> Iterator[str]:
    yield _line(head)
    yield _line(["---"] * len(head))
    yield from map(_line, rows)


def _line(cells: Iterable[object]) -> str:
    return f"| {' | '.join(str(cell).replace('|', chr(92) + '|') for cell in cells)} |"


def _parties(found: Assessment) -> Iterator[str]:
    if not found.parties:
        yield "No party has registered or was added."
        return
    head = (
        "party",
        "state",
        "group",
        "records",
        "teachers",
        "teachers a record",
        "votes a person",
        "promised to",
    )
    yield from _table(head, (row for party in found.parties for row in _groups(party)))
    yield ""
    yield "Each party declared these numbers in a manifest that it signed. Records and models stay with it."


def _groups(party: admin_pb2.PartyInfo) -> Iterator[Iterable[object]]:
    promised = "persons" if party.whole_persons else "records"
    for group in party.groups:
        yield (
            party.site,
            party.state,
            group.name,
            records_text(group),
            group.teachers,
            group.copies,
            party.max_votes_per_person,
            "labels alone" if party.shared_features else promised,
        )
    if not party.groups:
        yield party.site, party.state, "not registered", "", "", "", "", ""


def _budgets(report: ChargeReport) -> Iterator[str]:
    head = (
        "unit",
        "level",
        "epsilon",
        "delta",
        "filter",
        "enforced",
        "spent",
        "left",
        "spent in its lifetime",
        "state",
        "lifetime guarantee",
    )
    yield from _table(head, map(budget_cells, report.budgets))


def _meaning(budgets: Sequence[admin_pb2.Budget]) -> Iterator[str]:
    head = (
        "promise",
        "epsilon",
        "delta",
        "right guesses at even odds, at most",
        f"found by a test with {FALSE_ALARMS:.0%} false alarms, at most",
    )
    rows = (
        (
            meaning.notion,
            number_text(meaning.epsilon),
            number_text(meaning.delta),
            _share(meaning.best_guess),
            _share(meaning.most_detected),
        )
        for meaning in meanings(budgets)
    )
    yield from _table(head, rows)
    yield ""
    yield (
        "Both hold once a whole budget is spent, for whoever sees every release and knows all other records."
        " Without any release they are 50% and 5%. DP for persons covers all records of a patient at one"
        " party, DP for records one of them, label-DP the label of one. A patient at several parties has a"
        " budget at each."
    )
    broken = [unit_text(budget) for budget in budgets if budget.broken_unix_s]
    if broken:
        yield ""
        yield f"The budget was raised or renewed of {', '.join(broken)}: it covers what came since."
    uncovered = [unit_text(budget) for budget in budgets if not _is_promised(budget)]
    if uncovered:
        yield ""
        yield (
            f"**No figure here covers {', '.join(uncovered)}**: ttac released sums without noise, or the"
            " budget counts costs that depend on votes (`enforce` data_dependent)."
        )


def _is_promised(budget: admin_pb2.Budget) -> bool:
    """Whether a budget is an unconditional guarantee."""
    return budget.enforce == "worst_case" and not budget.unguaranteed


def _share(value: float) -> str:
    """Return a bound in percent, rounded up so that it stays an upper bound."""
    return f"{math.ceil(value * 1000) / 10:.1f}%"


def _releases(found: Assessment) -> Iterator[str]:
    charges = found.charges.charges
    by_session: dict[tuple[str, str], list[SessionCharge]] = {}
    for charge in charges:
        by_session.setdefault((charge.session_id, charge.mechanism), []).append(charge)
    head = (
        "session",
        "asked by",
        "mechanism",
        "tally",
        "batches",
        "from (UTC)",
        "to",
        "units",
        "largest epsilon of a unit",
    )
    yield from _table(head, map(_release, by_session.values()))
    yield ""
    were = "session was" if found.sessions == 1 else "sessions were"
    yield f"{found.sessions} {were} opened. Amounts of one unit do not add up; Budgets has the totals."


def _release(charges: Sequence[SessionCharge]) -> Iterable[object]:
    first = charges[0]
    uncovered = any(charge.unguaranteed for charge in charges)
    return (
        first.session_id,
        first.querier or "not known any more",
        f"{first.mechanism}; no formal guarantee" if uncovered else first.mechanism,
        first.tally or "not known any more",
        max(charge.batches for charge in charges),
        minute(min(charge.first_unix_ms for charge in charges)),
        minute(max(charge.last_unix_ms for charge in charges)),
        len(charges),
        epsilon_text(max(charge.epsilon for charge in charges)),
    )


def _members(found: Assessment) -> Iterator[str]:
    policy = found.policy
    asked = ", ".join(found.queriers) or "none"
    answers = {
        "certified": "every party with a certificate of the federation that is not revoked",
        "added": "parties that an administrator added",
    }
    most = policy.max_queries_per_day
    yield from _table(
        ("question", "answer"),
        [
            (
                "Who may ask?",
                "every querying party with a certificate of the federation that is not revoked;"
                " each party's own `queriers` may name fewer",
            ),
            ("Who has asked?", asked),
            ("How much in 24 hours?", "any number" if most is None else count_text(most, "query", "queries")),
            ("Who may answer?", answers[policy.admission]),
            ("How many at least together?", f"{policy.min_quorum} parties"),
        ],
    )
    yield ""
    yield f"{policy_source(found.charges.policy)} All its values:"
    yield ""
    values = policy.model_dump(mode="json").items()
    yield from _table(("key", "value"), ((key, _value(value)) for key, value in values))


def _value(value: Any) -> str:
    return "not set" if value is None else f"`{json.dumps(value)}`"


def _retention(policy: Policy) -> Iterator[str]:
    kept = policy.keep_answers_days
    renewed = policy.renewal_days
    yield from _table(
        ("data", "kept"),
        [
            (
                "answers at the guardian",
                "for good" if kept is None else f"for {count_text(kept, 'day')} after their release",
            ),
            ("charges, budgets and the audit log", "for good"),
            ("votes, histograms and shares at the guardian", "until their batch ends, in memory alone"),
            (
                "what a budget counts",
                "for good" if renewed is None else f"for {count_text(renewed, 'day')}, then from zero",
            ),
            ("answers and students at the querying party", "fill in"),
            ("records and teachers at each party", "fill in"),
        ],
    )


def _changes(logged: Mapping[str, Logged]) -> Iterator[str]:
    yield from _table(
        ("in the audit log", "times", "last (UTC)"),
        (
            (text, logged[kind].times, minute(logged[kind].last_unix_ms)) if kind in logged else (text, 0, "")
            for kind, text in EVENTS.items()
        ),
    )


def _security(found: Assessment) -> Iterator[str]:
    policy = found.charges.policy
    taken = "TLS 1.3 alone" if found.tls == "1.3" else f"TLS {found.tls} or newer"
    yield from _table(
        ("measure", "is"),
        [
            ("connection by which this was read", f"mutual {taken}; other sites set their own minimum"),
            ("noise source", policy.noise or "not told by this version of the guardian"),
            ("ledger", policy.ledger or "not told by this version of the guardian"),
            ("last backup", "the ledger does not record backups: fill in"),
            ("who holds `ledger.key`, and the CA's folder", "fill in"),
        ],
    )


def _audit(report: ChargeReport) -> Iterator[str]:
    yield from _table(
        ("what", "is"),
        [
            ("audit head", f"row {report.head.sequence}, `{report.head.hash.hex()}`"),
            ("last `ostraka guardian audit verify`", "the ledger does not record checks: fill in"),
            ("parties that keep heads", "fill in"),
        ],
    )
