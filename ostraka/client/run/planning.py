"""Worst-case costs of a plan for each party, computed by the guardian; nothing is charged."""

import secrets
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ostraka.client.peers.retry import Retry
from ostraka.client.run.options import PlanOptions, make_plan
from ostraka.client.run.pool import AskedPool
from ostraka.client.run.site import connect_guardian, load_query_site, load_site_task, site_encoder
from ostraka.common.clock import Clock, SystemClock
from ostraka.common.console.texts import epsilon_text, list_words, number_text
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.mechanism import Ttac
from ostraka.common.plan.fields import NONCE_BYTES
from ostraka.common.plan.plan import Plan
from ostraka.common.planning.candidate import Curve, queries_up_to
from ostraka.common.planning.search.floor import FEW_LABELS
from ostraka.common.privacy.filters import filter_name, filter_text, sent_order
from ostraka.common.privacy.guarantees import NO_GUARANTEE, plan_notion
from ostraka.common.task import Source
from ostraka.protos.ostraka.v1 import guardian_pb2

if TYPE_CHECKING:
    from pandas import DataFrame

POINTS = 12
"""Number of plan sizes in a plot."""


@dataclass(frozen=True)
class PlanResult:
    """A plan, aligned if chosen, with the guardian's reply and the lines of a plot."""

    plan: Plan
    reply: guardian_pb2.PlanReply = field(repr=False)
    curves: Sequence[Curve] = field(default=(), repr=False)
    repeated: int = 0
    """Records of the pool that repeat another one, and are not queries of their own."""
    guardian_fits: int | None = None
    """With noise from the parties: how many queries would fit with the guardian's noise, if known."""
    reading: tuple[str, ...] = ()
    """What was guessed or left out while the pool was read, one sentence each."""

    @property
    def parties(self) -> Sequence[Mapping[str, Any]]:
        """A row for each party: its teachers, worst-case epsilon of this plan, budget, and `fits`."""
        rows: Sequence[Mapping[str, Any]] = as_json(self)["parties"]
        return rows

    def frame(self) -> "DataFrame":
        """Return these rows as a pandas data frame; raise `config.invalid` if pandas is not installed."""
        from ostraka.common.datasets.frames import data_frame

        return data_frame(self.parties)

    def __str__(self) -> str:
        return title_plan(as_json(self))

    def _repr_html_(self) -> str:
        """Return the notebook view: the plan's cost for every party, and how many queries fit."""
        from ostraka.common.datasets.frames import html_table

        columns = ("site", "group", "teachers", "delta", "epsilon", "budget_epsilon", "fits")
        texts = {"delta": number_text, "epsilon": epsilon_text, "budget_epsilon": number_text}
        rows = [[texts.get(column, str)(party[column]) for column in columns] for party in self.parties]
        return html_table(str(self), columns, rows)


def plan(
    site_folder: Path,
    pool: Source | None,
    options: PlanOptions,
    *,
    task_file: Path | None = None,
    curves: bool = False,
    retry: Retry | None = None,
    clock: Clock | None = None,
) -> PlanResult:
    """Ask the guardian for the cost of the plan that `label` would send.

    Without a pool, `options.queries` is the number of queries. Raises the errors of `label`, and
    `config.invalid` if there is neither a pool nor a number of queries.
    """
    site = load_query_site(site_folder)
    task = load_site_task(site_folder, task_file)
    asked_pool = None if pool is None else AskedPool.load(task, pool, options.mechanism)
    size = _size(options) if asked_pool is None else len(asked_pool)
    repeated = 0 if asked_pool is None else asked_pool.repeated
    reading = () if asked_pool is None else asked_pool.read_as
    options = options if asked_pool is None else asked_pool.count_queries(options)
    nonce = secrets.token_bytes(NONCE_BYTES)
    encoder = site_encoder(site, options.encoder, task)
    options = options.model_copy(update={"encoder": encoder.name})

    def make(chosen: PlanOptions) -> Plan:
        return make_plan(chosen, task, size, site.parties, nonce, encoder.sha256)

    with connect_guardian(site, clock or SystemClock(), retry or Retry()) as guardian:

        def ask(asked: Plan) -> guardian_pb2.PlanReply:
            return guardian.plan(asked.serialize())

        asked = make(options)
        reply = ask(asked)
        if options.align:
            # Only the guardian knows how many teachers vote, so a first request asks for the scale.
            options = options.aligned(reply.scale)
            asked = make(options)
            reply = ask(asked)
        alike = _guardian_fits(options, lambda other: ask(make(other)))
        if not curves:
            return PlanResult(asked, reply, (), repeated, alike, reading)
        counts = queries_up_to(asked.queries, POINTS).tolist()
        sized = [options.model_copy(update={"queries": count}) for count in counts]
        replies = [ask(make(one)) for one in sized]
    return PlanResult(asked, reply, _curves(counts, replies), repeated, alike, reading)


def _guardian_fits(options: PlanOptions, ask: Callable[[PlanOptions], guardian_pb2.PlanReply]) -> int | None:
    """Return how many queries would fit with the guardian's noise, if the plan has the parties'."""
    if options.noise == "guardian":
        return None
    reply = ask(options.model_copy(update={"noise": "guardian", "colluders": 0}))
    return reply.fits if reply.HasField("fits") else None


def warnings(result: PlanResult) -> tuple[str, ...]:
    """Return warnings about probable mistakes in a plan, one sentence each."""
    return (*_threshold_warnings(result), *_voter_warnings(result))


def _threshold_warnings(result: PlanResult) -> tuple[str, ...]:
    check = result.plan.mechanism.noisy_check
    votes = result.reply.voters
    if check is None or not votes or check.threshold <= votes:
        return ()
    return (
        f"The threshold of {check.threshold:g} is above the {votes:g} votes that a query gets: a query "
        "can pass the check only by noise, and every query costs its check.",
    )


def _voter_warnings(result: PlanResult) -> tuple[str, ...]:
    """Warn of parties with records but no teachers if the plan asks for votes."""
    alone = [party.site for party in result.reply.parties if not party.teachers]
    if not alone or result.plan.mechanism.by_record:
        return ()
    return (f"Parties with records but without teachers, which do not vote: {list_words(alone)}.",)


def title_plan(figures: Mapping[str, Any]) -> str:
    """Return the title of a plan's table, from the figures of `as_json`."""
    queries = "1 query" if figures["queries"] == 1 else f"{figures['queries']:,} queries"
    return f"{queries}, worst case, every query answered; {figures['notion']}"


def as_json(result: PlanResult) -> dict[str, Any]:
    """Return the result as JSON types; `fits` is null if the policy enforces data-dependent costs."""
    unguaranteed = [party.site for party in result.reply.parties if party.together == Ttac.together]
    return {
        "mechanism": result.plan.mechanism.model_dump(),
        "variant": result.plan.variant,
        "encoding": result.plan.encoding,
        "tally": result.plan.tally,
        "ballots": result.plan.ballots,
        "noise": result.plan.noise,
        "colluders": result.plan.colluders,
        "noise_growth": result.plan.noise_growth,
        "guardian_fits": result.guardian_fits,
        "queries": result.plan.queries,
        "repeated": result.repeated,
        "reading": list(result.reading),
        "warnings": list(warnings(result)),
        "teachers": result.reply.teachers,
        "voters": result.reply.voters,
        "scale": result.reply.scale,
        "enforce": result.reply.enforce,
        "bound": result.reply.bound,
        "epsilon_is": "worst_case, of this plan alone with every query answered",
        "notion": NO_GUARANTEE if unguaranteed else _notion(result),
        "parties": [
            {
                "site": party.site,
                "group": party.group,
                "teachers": party.teachers,
                "order": sent_order(party.order),
                "filter": filter_name(party.order),
                "delta": party.delta,
                "epsilon": party.epsilon,
                "budget_epsilon": party.budget_epsilon,
                "fits": party.fits if party.HasField("fits") else None,
            }
            for party in result.reply.parties
        ],
        "unguaranteed": unguaranteed,
    }


def tell_advice(result: PlanResult, site_folder: Path) -> str:
    """Return one line of advice on whether the labels are worth their cost, and a command that says more."""
    more = f"ostraka query advise --site {shlex.quote(str(site_folder))} --labelled OWN"
    fits = result.reply.fits if result.reply.HasField("fits") else None
    if fits is not None and fits < FEW_LABELS:
        return (
            f"Advice: what is left of the budgets pays for {fits} answers, from which a "
            "student learns nothing; ask for sums, or for nothing. To compare the ways: "
            f"{more}"
        )
    return f"Advice: before you pay for labels, see what they add to your own records: {more}"


def _notion(result: PlanResult) -> str:
    whole = bool(result.reply.parties) and all(party.whole_persons for party in result.reply.parties)
    return plan_notion(result.plan.adjacency, whole_persons=whole)


def _size(options: PlanOptions) -> int:
    if options.queries is None:
        raise OstrakaError(
            ErrorCode.CONFIG_INVALID, "The number of queries to plan is missing: give --pool or --queries."
        )
    return options.queries


def _curves(counts: Sequence[int], replies: Sequence[guardian_pb2.PlanReply]) -> list[Curve]:
    """Return one line for all parties with equal costs."""
    sites: dict[tuple[float, ...], list[str]] = {}
    for i, party in enumerate(replies[0].parties):
        costs = [reply.parties[i].epsilon for reply in replies]
        sites.setdefault((party.order, party.delta, *costs), []).append(party.site)
    return [
        Curve(f"{', '.join(names)}: {filter_text(order)}, delta {delta:g}", np.array(counts), np.array(costs))
        for (order, delta, *costs), names in sites.items()
    ]
