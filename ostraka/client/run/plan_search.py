"""`ostraka query plan --search`: the best use of the remaining budgets, and the command for it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ostraka.client.peers.guardian_peer import GuardianPeer
from ostraka.client.peers.retry import Retry
from ostraka.client.run.asking_options import AskingOptions
from ostraka.client.run.options import PlanOptions
from ostraka.client.run.pool import AskedPool
from ostraka.client.run.run_planner import UNUSED_NONCE, check_affordable, run_planner
from ostraka.client.run.site import connect_guardian, load_class_task, load_query_site
from ostraka.client.run.stand_ins import vote_on_own_records
from ostraka.common.clock import Clock, SystemClock
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.mechanism import Binary, Confident, GnMax, Mechanism, Powerset, Tau, Threshold
from ostraka.common.plan.plan import Plan
from ostraka.common.planning.options import mechanism_words, option_words
from ostraka.common.planning.search.allowance import Allowance, Remainders
from ostraka.common.planning.search.families import families
from ostraka.common.planning.search.forecast import Forecaster
from ostraka.common.planning.search.result import figures, tell_advice
from ostraka.common.planning.search.search import Point, Search, frontier, no_label, worst_rates
from ostraka.common.planning.search.search_options import SearchOptions
from ostraka.common.planning.search.vote_sample import VoteSample, most_queries
from ostraka.common.privacy import budget_rdp
from ostraka.common.privacy.filters import received_order
from ostraka.common.task import Source, Task
from ostraka.protos.ostraka.v1 import guardian_pb2

PROBE = 100.0
"""Noise of the plans that probe who would vote, who pays, and which mechanisms the policy allows."""


@dataclass(frozen=True)
class Asking:
    """A search for a querying site.

    Attributes:
        site: the site's folder.
        pool: records to label; None: as many as `queries`.
        queries: how many of them are asked about; None: all.
        options: the plan's options, except its mechanism and queries.
        search: options of the search.
        kind: the only mechanism to search; None: all that the policy allows.
        votes: public or simulated votes, as `read_sample` takes them.
        labelled: own labelled records, on which stand-ins for teachers vote instead.
        task: the task file; None: the site's.
        settings: the file that gave some of `options`, if any.
    """

    site: Path
    pool: Source | None
    queries: int | None
    options: AskingOptions
    search: SearchOptions
    kind: str | None = None
    votes: Path | None = None
    labelled: Source | None = None
    task: Path | None = None
    settings: Path | None = None


@dataclass(frozen=True)
class SearchResult:
    """The result as JSON types, and the points of its plot."""

    figures: dict[str, Any]
    points: Sequence[Point] = field(repr=False)


def search(
    asking: Asking,
    on_step: Callable[[int, int], None] = lambda done, total: None,
    *,
    retry: Retry | None = None,
    clock: Clock | None = None,
) -> SearchResult:
    """Find the mechanism and noise that give the most right labels for the remaining budgets.

    Costs are worst-case, whatever the federation enforces. If the guardian does not reveal what is left,
    whole budgets are used. Nothing is opened or charged.

    Raises:
        OstrakaError: the errors of `label`, `config.invalid` if there are no votes to use,
            `budget.too_small`, with advice, if no setting gives a label.
    """
    site = load_query_site(asking.site)
    task = load_class_task("a search for a plan of votes", asking.site, asking.task)
    pool = None if asking.pool is None else AskedPool.load(task, asking.pool)
    queries = _queries(asking, pool)
    clock = clock or SystemClock()
    retry = retry or Retry()

    def make(mechanism: Mechanism) -> Plan:
        options = PlanOptions(mechanism=mechanism, queries=asking.queries, **dict(asking.options))
        options = options if pool is None else pool.count_queries(options)
        return run_planner(site, task, options, queries, clock, retry).plan(UNUSED_NONCE, None)

    with connect_guardian(site, clock, retry) as guardian:
        every = probe_mechanisms(task)
        probes = [one for one in every if asking.kind in (None, one.kind)] or every
        allowed = replies_by_kind(guardian, probes, make)
        plan, reply = next(iter(allowed.values()))
        check_affordable(plan, reply)
        sample = _sample(asking, task, plan, reply)
        forecaster = Forecaster(sample)
        found = Search(
            forecaster,
            plan.queries,
            asking.search.least(forecaster),
            worst_rates(plan.classes),
            asking.search.floor(sample),
        )
        tried = [one for one in families(sample, asking.kind) if one.kind in allowed]
        purse = Remainders([allowance_of(party) for party in reply.parties])
        points = frontier(found, tried, purse, on_step)
        if not points[-1].outcomes:
            raise no_label(found, tried, purse, "let parties agree to more, or ask more of them")
        best = points[-1].outcomes[0].mechanism
        fits = guardian.plan(make(best).serialize())
    command = ["ostraka", "query", "label", "--site", str(asking.site), *_files(asking)]
    command += option_words(asking.options)
    if asking.queries is not None:
        command += ["--queries", str(asking.queries)]
    command += mechanism_words(best)
    advise = ["ostraka", "query", "advise", "--site", str(asking.site), "--labelled", "OWN"]
    return SearchResult(
        figures(
            found,
            points,
            [command],
            bound="worst_case",
            enforce=reply.enforce,
            votes=_origin(asking),
            fits=fits.fits if fits.HasField("fits") else None,
            advice=tell_advice(points[-1].outcomes[0], found.floor, advise),
        ),
        points,
    )


def _sample(asking: Asking, task: Task, plan: Plan, reply: guardian_pb2.PlanReply) -> VoteSample:
    """Return the votes for the search."""
    voters = round(reply.voters)
    if asking.labelled is None:
        sample, _ = asking.search.sample(asking.votes, plan.classes, voters, several=task.multi_label)
        return sample
    if asking.votes is not None or asking.search.teacher_accuracy is not None:
        raise OstrakaError(
            ErrorCode.CONFIG_INVALID,
            "Stand-ins vote on --labelled: leave out --votes and --teacher-accuracy, or --labelled.",
        )
    # Parties without teachers answer only sums; nobody learns from their records.
    records = sum(party.records for party in reply.parties if party.teachers)
    sample = vote_on_own_records(task, asking.labelled, voters, records / max(reply.teachers, 1))
    return sample.thin(most_queries(voters, plan.classes))


def _origin(asking: Asking) -> str:
    if asking.labelled is not None:
        return "of stand-ins that learned from own records"
    return "assumed" if asking.votes is None else f"of {asking.votes}"


def _queries(asking: Asking, pool: AskedPool | None) -> int:
    if asking.options.noise == "parties":
        raise OstrakaError(
            ErrorCode.CONFIG_INVALID,
            "A search compares mechanisms whose noise the guardian draws: leave out --noise, then plan gnmax"
            " with it.",
        )
    if asking.options.align:
        raise OstrakaError(
            ErrorCode.CONFIG_INVALID, "A search chooses noise for those who vote: leave out align."
        )
    if pool is not None:
        return len(pool)
    if asking.queries is None:
        raise OstrakaError(
            ErrorCode.CONFIG_INVALID, "The number of queries to plan is missing: give --pool or --queries."
        )
    return asking.queries


def probe_mechanisms(task: Task) -> list[Mechanism]:
    """Return one mechanism of every kind that is searched."""
    if task.multi_label:
        return [Binary(sigma=PROBE), Tau(sigma=PROBE, tau=1.0), Powerset(sigma=PROBE, max_positives=1)]
    plain = [GnMax(sigma=PROBE), Confident(sigma1=PROBE, sigma2=PROBE, threshold=1.0)]
    return [*plain, Threshold(sigma=PROBE, share=0.5)] if len(task.classes) == 2 else plain


def replies_by_kind(
    guardian: GuardianPeer, probes: Sequence[Mechanism], make: Callable[[Mechanism], Plan]
) -> dict[str, tuple[Plan, guardian_pb2.PlanReply]]:
    """Return the reply to each possible and allowed plan, by kind; raise the first refusal if there is
    none."""
    allowed: dict[str, tuple[Plan, guardian_pb2.PlanReply]] = {}
    refusals: list[OstrakaError] = []
    for probe in probes:
        try:
            plan = make(probe)
            allowed[probe.kind] = plan, guardian.plan(plan.serialize())
        except OstrakaError as error:
            # Some kinds do not work with a blind tally; others may.
            if error.code not in (ErrorCode.POLICY_REFUSED, ErrorCode.PLAN_INVALID):
                raise
            refusals.append(error)
    if not allowed:
        raise refusals[0]
    return allowed


def allowance_of(party: guardian_pb2.PartyCost) -> Allowance:
    """Return what a party may spend: what is left, or the whole budget if that is not revealed."""
    order = received_order(party.order)
    whole = budget_rdp(party.budget_epsilon, party.delta, order)
    left = party.rdp_left if party.HasField("rdp_left") else whole
    return Allowance(left, order, party.delta, party.sensitivity)


def _files(asking: Asking) -> list[str]:
    """Return the options for the pool, the run, the task and the settings."""
    pool = asking.pool if isinstance(asking.pool, Path | str) else "POOL"
    task = [] if asking.task is None else ["--task", str(asking.task)]
    settings = [] if asking.settings is None else ["--settings", str(asking.settings)]
    return ["--pool", str(pool), "--out", "RUN", *task, *settings]
