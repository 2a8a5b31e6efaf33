"""The sums and costs of a fit at several epsilons, for comparison with votes; nothing is charged."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from rich.console import Group, RenderableType
from rich.text import Text

from ostraka.client.fitting.fit_options import FitOptions
from ostraka.client.fitting.fitting import PlannedFit, plan_fit
from ostraka.client.fitting.problems import KnownRecords, find_hidden
from ostraka.client.fitting.sum_plans import ChosenPlan
from ostraka.client.learners.fit import LearnerName
from ostraka.client.peers.retry import Retry
from ostraka.client.run.asking_options import AskingOptions
from ostraka.client.run.site import connect_guardian, load_query_site, load_site_task, site_encoder
from ostraka.client.run.sum_planning import SumAsking
from ostraka.common.clock import Clock, SystemClock
from ostraka.common.console.screen import table_of
from ostraka.common.console.texts import epsilon_text
from ostraka.common.errors import OstrakaError
from ostraka.common.task import Source
from ostraka.common.validation import FrozenModel

EPSILONS = (0.5, 1.0, 2.0, 4.0, 8.0)
"""Epsilons of a fit: from little learning to negligible noise."""


class SumOffer(FrozenModel):
    """What a fit would ask for an epsilon.

    Attributes:
        epsilon: maximum for every party, of this fit alone.
        learner: the one that suits it without own labelled records, which may make another one better.
        sums: number of consecutive sums.
        values: number of values of each.
        share: largest fraction of a party's whole budget that they use, as its filter adds up.
        fits: number of sums that remaining budgets pay for; None if the guardian does not reveal it.
    """

    epsilon: float
    learner: LearnerName
    sums: int
    values: int
    share: float
    fits: int | None


class SumOffers(FrozenModel):
    """Offers by epsilon, or the sentence that says why there are none."""

    offers: tuple[SumOffer, ...] = ()
    problem: str = ""


def offer_sums(
    site_folder: Path,
    pool: Source | None,
    options: AskingOptions,
    *,
    task_file: Path | None = None,
    retry: Retry | None = None,
    clock: Clock | None = None,
) -> SumOffers:
    """Return the sums and costs of a fit with the parties in `options`, by the guardian's accounting.

    An error, such as a policy's refusal, becomes the `problem`: votes may still be possible.
    """
    site = load_query_site(site_folder)
    task = load_site_task(site_folder, task_file)
    try:
        encoder = site_encoder(site, options.encoder, task)
        known = replace(KnownRecords.read(task, encoder, pool, None), hidden=find_hidden(site))
        asking = SumAsking(
            task,
            site.parties,
            options.parties,
            options.quorum,
            options.variant,
            encoder.name,
            encoder.sha256,
            options.ballots,
        )
        with connect_guardian(site, clock or SystemClock(), retry or Retry()) as guardian:
            planned = [
                (epsilon, plan_fit(known, FitOptions(epsilon=epsilon), asking, guardian))
                for epsilon in EPSILONS
            ]
        return SumOffers(offers=tuple(_offer(known, epsilon, found) for epsilon, found in planned))
    except OstrakaError as error:
        return SumOffers(problem=error.message)


def _offer(known: KnownRecords, epsilon: float, planned_fit: PlannedFit) -> SumOffer:
    planned = planned_fit.sums
    problem = known.problem(planned.records, tell_pool=planned_fit.tells_pool)
    chosen = ChosenPlan.make("auto", problem, planned.mu)
    return SumOffer(
        epsilon=epsilon,
        learner=chosen.choice.name,
        sums=planned.plan.queries,
        values=planned.plan.mechanism.width(planned.plan.classes),
        share=max(cost.share for cost in planned.costs),
        fits=planned.fits,
    )


def show_offers(offers: SumOffers, site_folder: Path) -> RenderableType:
    """Return the printed comparison of sums with votes."""
    return Group(*_parts(offers, site_folder))


def _parts(offers: SumOffers, site_folder: Path) -> Iterator[RenderableType]:
    if not offers.offers:
        yield Text(f"No model of sums is possible for comparison: {offers.problem}")
        return
    head = (
        "epsilon of this alone",
        "learner",
        "sums",
        "values of each",
        "share of a budget",
        "sums that fit",
    )
    rows = [
        (
            epsilon_text(one.epsilon),
            one.learner,
            f"{one.sums:,}",
            f"{one.values:,}",
            f"{one.share:.0%}",
            "-" if one.fits is None else f"{one.fits:,}",
        )
        for one in offers.offers
    ]
    yield table_of(head, rows, "For comparison: a model of sums over all records, worst case")
    yield Text(
        "A model answers any question of its holder, for ever, without further charge. Own labelled "
        "records, which "
        f"this search does not use, improve it. To fit one: ostraka query fit --site {site_folder} --pool "
        "POOL --labelled OWN --epsilon EPSILON --out RUN"
    )
