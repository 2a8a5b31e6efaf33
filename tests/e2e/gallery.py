"""Run the pages of the gallery, and draw their pictures from a run of the page's own commands."""

import io
import os
import re
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

import pytest
from rich.console import Console
from rich.terminal_theme import TerminalTheme
from rich.text import Text

from ostraka.common.page.drawing import draw
from ostraka.deploy.simulation import plots
from ostraka.deploy.simulation.html import Plot
from ostraka.deploy.simulation.processes import Start, forking
from ostraka.deploy.simulation.report import SimulationReport
from tests.deploy.helm.conftest import helm_program
from tests.e2e import walkthrough
from tests.postgres import running_server

PAGES = walkthrough.ROOT / "docs" / "gallery"
EXAMPLES = walkthrough.ROOT / "examples"
PICTURES = walkthrough.ROOT / "docs" / "img" / "gallery"
COLUMNS = 110
"""Width, in characters, of the terminals that are drawn."""

Picture = Callable[[Path, list[str]], str]
"""Returns an SVG image of the results that a page's commands left in a folder."""


def of_report(plot: Plot, folder: Path, _: list[str]) -> str:
    """Draw a plot from the report of the page's last simulation, as in its HTML report."""
    report = SimulationReport.model_validate_json((folder / "run" / "report.json").read_text())
    return draw(plot, report)


def of_terminal(shown: tuple[str, ...], folder: Path, page_commands: list[str], lines: str = "") -> str:
    """Draw the commands with this beginning and their output: the lines that match the pattern `lines`."""
    console = Console(record=True, width=COLUMNS, file=io.StringIO())
    for number, command in enumerate(page_commands):
        if command.startswith(shown):
            console.print(Text(f"$ {command}", style="bold"))
            printed = (folder / "logs" / f"command-{number}.log").read_text().splitlines()
            console.print(Text("\n".join(line[:COLUMNS] for line in printed if re.search(lines, line))))
    return console.export_svg(title="Terminal", theme=THEME, code_format=FORMAT, unique_id="gallery")


GUARDIANS = ("ostraka query label", "ostraka guardian session list", "ostraka guardian audit verify")
DRAWN: Mapping[str, Picture] = {
    "boosting": partial(of_report, plots.comparison),
    "consent": partial(of_report, plots.epsilons),
    "encoder": partial(of_report, plots.accuracy),
    "encrypted": partial(of_report, plots.labels),
    "firewalls": partial(of_terminal, ("ostraka site check",), lines="│ relay|check  |[┏┡└]"),
    "guardians": partial(of_terminal, GUARDIANS, lines="that fit|│ north|answered|closed|intact|[┏┡└]"),
    "kubernetes": partial(of_terminal, ("grep",)),
    "numbers": partial(of_report, plots.numbers),
    "own-teacher": partial(of_report, plots.labels),
    "secret-labels": partial(of_report, plots.accuracy),
    "several-labels": partial(of_report, plots.label_shares),
}
"""Every page with its own commands, and its picture."""

THEME = TerminalTheme((41, 41, 41), (230, 230, 230), [(41, 41, 41)] * 8)
FORMAT = """<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}">
<style>
.{unique_id}-matrix {{ font-family: monospace; font-size: {char_height}px; line-height: {line_height}px; }}
{styles}
</style>
<defs><clipPath id="{unique_id}-clip-terminal">
<rect x="0" y="0" width="{terminal_width}" height="{terminal_height}" />
</clipPath>{lines}</defs>
<rect fill="#292929" width="{width}" height="{height}" rx="8" />
<g transform="translate(8, 24)" clip-path="url(#{unique_id}-clip-terminal)">{backgrounds}
<g class="{unique_id}-matrix">{matrix}</g></g>
</svg>
"""
"""Rich's own format loads a font from another host."""


TUTORIAL: Picture = partial(
    of_terminal, ("ostraka query label", "ostraka query report"), lines="answered|[┏┡└│┃]"
)


def keep_picture(page: str, picture: str) -> None:
    """Write a picture into the folder in OSTRAKA_GALLERY_PICTURES, if it is set."""
    folder = os.environ.get("OSTRAKA_GALLERY_PICTURES")
    if folder is not None:
        (walkthrough.ROOT / folder / f"{page}.svg").write_text(picture)


def page_commands(page: str) -> list[str]:
    """Return the commands of a page of the gallery, in order."""
    return walkthrough.commands((PAGES / f"{page}.md").read_text())


def run_page(page: str, folder: Path, start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run a page's commands in a folder, with a database and Helm where readers use their own."""
    monkeypatch.setenv("COLUMNS", str(COLUMNS))
    run = partial(walkthrough.run, page_commands(page), folder, monkeypatch=monkeypatch)
    if page == "guardians":
        with running_server() as server:
            run(start=start, exported={"DATABASE_URL": server.new_database()})
    elif page == "own-teacher":
        # Forked processes look for modules in the folder where the first process started.
        monkeypatch.setenv("PYTHONPATH", str(EXAMPLES))
        monkeypatch.syspath_prepend(EXAMPLES)
        with forking() as start_with_examples:
            run(start=start_with_examples)
    else:
        if page == "kubernetes":
            monkeypatch.setenv("PATH", str(helm_program().parent), prepend=os.pathsep)
        run(start=start)
