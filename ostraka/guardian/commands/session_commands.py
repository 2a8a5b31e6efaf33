"""`ostraka guardian session`: queries, answers and their worst-case cost."""

from collections.abc import Iterable, Sequence

from ostraka.common.console.cli import write_json
from ostraka.common.console.commands import CommandGroup
from ostraka.common.console.texts import epsilon_text
from ostraka.guardian.admin.client import admin_call
from ostraka.guardian.admin.exports import plain, rows_of
from ostraka.guardian.admin.texts import budget_notion, minute, release_text, unit_text
from ostraka.guardian.commands.operation_commands import add_operations
from ostraka.guardian.commands.options_and_output import Json, Site, say, show, tell
from ostraka.guardian.operations.federation import SessionId
from ostraka.protos.ostraka.v1 import admin_pb2

app = CommandGroup("List, show and cancel sessions.")


@app.command("list")
def list_(site: Site, json: Json = None) -> None:
    """List the sessions, each with its numbers of queries asked and answered."""
    _show(admin_call(site, lambda stub: list(stub.ListSessions(admin_pb2.ListSessionsRequest()))), json)


@app.command("show")
def show_(site: Site, session: SessionId, json: Json = None) -> None:
    """Show a session's terms and charges."""
    request = admin_pb2.ShowSessionRequest(session_id=session)
    asked = admin_pb2.ListChargesRequest(session_id=session)
    reply, charges, budgets = admin_call(
        site,
        lambda stub: (
            stub.ShowSession(request),
            list(rows_of(stub.ListCharges(asked))),
            list(stub.ListBudgets(admin_pb2.ListBudgetsRequest())),
        ),
    )
    charged = pair_units(charges, budgets)
    told = [plain(charge) | {"notion": budget_notion(unit)} for charge, unit in charged]
    write_json(plain(reply) | {"charges": told}, json)
    if json == "-":
        return
    s = reply.session
    done = release_text(s.answered, s.asked, reply.released)
    say(f"{s.session_id} by {s.querier}: {s.state}, {done}.", json)
    say(f"Mechanism {reply.mechanism}; variant {reply.variant}; parties {', '.join(reply.parties)}.", json)
    say(f"Tally: {reply.tally}; queries: {reply.encoding}.", json)
    say(f"Enforced: {reply.enforce}; bound: {reply.bound}.", json)
    if reply.unguaranteed:
        say(
            "No formal guarantee: it releases sums of updates without noise, or votes of teachers that "
            "were trained on such sums.",
            json,
        )
    show(("unit", "batch", "time (UTC)", "worst-case epsilon", "of the unit so far"), _charges(charged))


add_operations(app, "session", lambda reply, json: _show([reply.session], json))


def _show(found: Sequence[admin_pb2.SessionSummary], json: str | None) -> None:
    from ostraka.common.identity import Identity

    rows = [
        (s.session_id, Identity.parse(s.querier).site, s.state, f"{s.asked} of {s.queries}", str(s.answered))
        for s in found
    ]
    tell({"sessions": found}, ("session", "querying party", "state", "asked", "answered"), rows, json)


def pair_units(
    charges: Iterable[admin_pb2.ChargeRow], budgets: Iterable[admin_pb2.Budget]
) -> list[tuple[admin_pb2.ChargeRow, admin_pb2.Budget | admin_pb2.ChargeRow]]:
    """Return each charge with the budget of its unit, which alone says whether it protects persons."""
    from ostraka.guardian.admin.report import name_of

    kept = {name_of(budget): budget for budget in budgets}
    return [(charge, kept.get(name_of(charge), charge)) for charge in charges]


def _charges(
    charged: Iterable[tuple[admin_pb2.ChargeRow, admin_pb2.Budget | admin_pb2.ChargeRow]],
) -> Iterable[tuple[str, ...]]:
    for c, unit in charged:
        yield (
            unit_text(unit),
            str(c.batch_id),
            minute(c.time_unix_ms),
            epsilon_text(c.epsilon),
            epsilon_text(c.epsilon_worst_case),
        )
