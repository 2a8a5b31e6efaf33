"""The calendar of a year: how often each event occurs, and a check every evening."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from unittest import mock

from ostraka.common.clock import ManualClock
from ostraka.common.errors import OstrakaError
from ostraka.common.identity import Role
from ostraka.guardian.policy import DAY_S, Policy
from ostraka.guardian.sessions import coordinator
from tests.chaos.members import START
from tests.chaos.places import folder, places
from tests.chaos.year.archives import Archives
from tests.chaos.year.books import Books
from tests.chaos.year.events import Events
from tests.chaos.year.guardian import Guardian
from tests.chaos.year.sessions import PARTIES, QUORUM, Asking
from tests.chaos.year.sites import Authority, Site
from tests.engines import share_compiled_statements

QUERIERS = ("p", "q", "r")
WEEK = 1 / 7
CHANCES = dict.fromkeys(
    ("rotate", "revoke", "suspend", "freeze", "withdraw", "lower", "agree_to_more", "change_records"), WEEK
)
"""Probabilities for each day of events at some site."""
MACHINE = {"die": WEEK, "supersede": 1 / 30, "rotate_guardian": 1 / 90}
IGNORANT = 0.1
"""Probability that a querying party asks sites that are suspended or revoked."""
OLD = 3
"""Number of old batches that are checked again every day."""


@dataclass
class Year:
    """How a year went.

    Attributes:
        days: days until its end, or until something did not hold.
        count: number of events, by kind.
        problems: what did not hold on the last of these days.
        events: what happened on which day, one event a line.
    """

    days: int = 0
    count: Counter[str] = field(default_factory=Counter)
    problems: list[str] = field(default_factory=list)
    events: list[str] = field(default_factory=list)


def simulate(seed: int, days: int, sites: int, backend: str) -> Year:
    """Run a year of `days`, determined by the seed, until it ends or something does not hold."""
    share_compiled_statements()
    draws = random.Random(seed)  # noqa: S311
    tokens = random.Random(draws.random())  # noqa: S311
    named = SimpleNamespace(token_hex=lambda length: tokens.randbytes(length).hex())
    with places(backend) as place, folder() as own, mock.patch.object(coordinator, "secrets", named):
        return Calendar(draws, days, sites, own, place).run()


class Calendar:
    """A federation and its events, day by day."""

    def __init__(
        self, draws: random.Random, days: int, sites: int, own: Path, place: Callable[[], Path | str]
    ) -> None:
        """Create sites and a guardian, with certificates in the folder `own`."""
        self._draws = draws
        self._days = days
        self._month = min(30, days // 4)
        self._clock = ManualClock(START)
        self._year = Year()
        authority = Authority(own, self._clock)
        self._queriers = {site: authority.issue(site, Role.QUERY) for site in QUERIERS}
        self.sites = [
            Site(f"s{number}", authority.issue(f"s{number}", Role.PARTY), ["g0", "g1"][: draws.randint(1, 2)])
            for number in range(sites)
        ]
        self._guardian = Guardian(
            draws, self._clock, place, authority.issue("guardian", Role.GUARDIAN), _policy(draws, days)
        )
        self.books = Books()
        known = (draws, self._clock, self._guardian, self.books)
        self.events = Events(*known, authority, own, self._year.count)
        self._asking = Asking(*known, self._year.count)
        self._archives = Archives(own)

    def run(self) -> Year:
        """Go from day to day."""
        year, books = self._year, self.books
        try:
            for site in self.sites:
                self.events.found(site)
            after_backup = range(self._month, self._days)
            losses = set(self._draws.sample(after_backup, max(1, self._days // 60)))
            while year.days < self._days and not books.problems:
                self._clock_to(year.days)
                self._day(year.days in losses)
                year.days += 1
        except (OstrakaError, AssertionError, ValueError) as exc:
            books.problems.append(f"{type(exc).__name__}: {exc}")
        finally:
            self._guardian.close()
        year.problems = books.problems
        year.count["charge"] = books.charges
        year.count.update({f"audit row {kind}": number for kind, number in books.kinds.items()})
        return year

    def ask(self, sites: Sequence[Site]) -> None:
        """Let a querying party ask these sites."""
        self._asking.session(self._queriers[self._draws.choice(QUERIERS)], sites)

    def check(self) -> None:
        """Check the books; open batches may have been settled or not."""
        self.books.check(self._guardian.ledger)

    def _clock_to(self, day: int) -> None:
        self._clock.advance(max(0.0, START + (day + 1) * DAY_S - self._clock.now()))

    def _day(self, loss: bool) -> None:
        self._settle_open()
        for name, chance in CHANCES.items():
            if self._draws.random() < chance:
                self._happen(name)
        for name, chance in MACHINE.items():
            if self._draws.random() < chance:
                self._evening(name)
        for site in self.sites:
            if (site.revoked or site.suspended or site.silent) and self._draws.random() < WEEK:
                self._note("come_back", site.name)
                self.events.come_back(site)
        for asked in [self._choose() for _ in range(self._draws.randint(1, 3))]:
            self.ask(asked)
        self.books.check_some(OLD, self._draws, self._guardian.ledger)
        self.check()
        if (self._year.days + 1) % self._month == 0:
            self._evening("back_up")
            heads = [site.head for site in self.sites if site.head and self.books.is_reconciled(site.name)]
            self.books.check_whole(self._guardian.where, self._guardian.credentials.ca_pem, heads)
            self.books.problems += self._archives.add(self._guardian, self._clock.now())
            self._year.count["archive"] += 1
        if loss:
            self._evening("lose")
            self._archives.begin_anew()
            self.check()

    def _choose(self) -> list[Site]:
        """Choose the sites of a session; those of a lost history register first."""
        chosen = self._draws.sample(self.sites, PARTIES)
        for site in chosen:
            if not site.revoked and not self.books.is_reconciled(site.name):
                self.events.register(site)
        able = [site for site in chosen if not (site.revoked or site.suspended)]
        return chosen if len(able) < QUORUM or self._draws.random() < IGNORANT else able

    def _settle_open(self) -> None:
        """Let querying parties return to the batches that they left open."""
        for key in sorted(self.books.state.open):
            record = self.books.records[key]
            self._asking.settle(self._queriers[record.querier], record)

    def _happen(self, name: str) -> None:
        site = self._draws.choice(self.sites)
        self._note(name, site.name)
        getattr(self.events, name)(site)

    def _evening(self, name: str) -> None:
        self._note(name)
        getattr(self.events, name)()

    def _note(self, name: str, *what: str) -> None:
        self._year.count[name] += 1
        self._year.events.append(f"day {self._year.days:3}: {' '.join([name, *what])}")


def _policy(draws: random.Random, days: int) -> Policy:
    return Policy(
        min_quorum=1,
        encodings=("plain", "ckks"),
        on_exhaustion=draws.choice(["stop", "vanish"]),
        renewal_days=max(7, days // 3),
    )
