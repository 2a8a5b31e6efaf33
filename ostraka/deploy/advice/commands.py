"""Commands for a recommendation: at a federation, or in a simulation of one on the same table."""

import math
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ostraka.deploy.advice.comparison import WayFigures
from ostraka.deploy.advice.options import AdviceOptions
from ostraka.deploy.advice.splits import Amounts

SIMULATED_PARTIES = (2, 100)
"""Least and largest number of sites in a simulation."""
_DIGITS = 3
"""Digits of an epsilon in a command, rounded down so that the rest of a budget pays for it."""


def simulate_command(
    best: WayFigures, records: Path, labels: Sequence[str], options: AdviceOptions, amounts: Amounts
) -> str | None:
    """Return the command that runs the recommended way over services on the same table.

    None if no simulation can have such sites: more records than the table, or too many sites.
    """
    fewest, most = SIMULATED_PARTIES
    if options.rows_per_party is not None or options.skew is not None:
        return None
    if not fewest <= options.parties <= most or not amounts.own:
        return None
    words = ["ostraka", "simulate", "--data", str(records), "--label", ",".join(labels)]
    words += ["--parties", str(options.parties), "--labelled", str(amounts.own)]
    words += ["--queries", str(amounts.pool), "--epsilon", epsilon_word(options.epsilon)]
    if best.way == "sums":
        return shlex.join([*words, "--learn", best.variant])
    settings = best.settings
    return shlex.join([*words, "--teachers", str(settings["teachers"]), "--mechanism", settings["mechanism"]])


@dataclass(frozen=True)
class Files:
    """Paths in the querying party's commands: its folder, its pool, and its own labelled records if any."""

    site: str = "SITE"
    pool: str = "POOL"
    labelled: str | None = "OWN"


UNNAMED = Files()
"""Placeholders for a person to replace."""


def site_commands(best: WayFigures, epsilon: float, files: Files = UNNAMED) -> tuple[str, ...]:
    """Return the commands of the querying site."""
    if best.way == "sums":
        words = ["ostraka", "query", "fit", "--site", files.site, "--pool", files.pool]
        words += [] if files.labelled is None else ["--labelled", files.labelled]
        budget = ["--epsilon", epsilon_word(epsilon), "--out", "runs/fit"]
        return (shlex.join([*words, "--learner", best.variant, *budget]),)
    words = ["ostraka", "query", "label", "--site", files.site, "--pool", files.pool, "--out", "runs/label"]
    return (shlex.join([*words, "--mechanism", best.settings["mechanism"]]),)


def train_command(best: WayFigures) -> tuple[str, ...]:
    """Return the command of a party whose teachers will vote; empty without teachers."""
    if best.way != "votes":
        return ()
    words = ["ostraka", "party", "train", "--site", "PARTY", "--data", "RECORDS", "--teachers"]
    return (shlex.join([*words, str(best.settings["teachers"])]),)


def epsilon_word(epsilon: float) -> str:
    """Return an epsilon as a value of an option, rounded down to three digits."""
    unit = 10.0 ** (math.floor(math.log10(epsilon)) - _DIGITS + 1)
    return f"{math.floor(epsilon / unit * (1 + 1e-12)) * unit:.{_DIGITS}g}"
