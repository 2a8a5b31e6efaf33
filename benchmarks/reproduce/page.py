"""The page docs/reproductions.md, generated from the registry and the records."""

from benchmarks.reproduce.cell import Cell, Figure, Outcome, Word
from benchmarks.reproduce.pictures import PICTURES
from benchmarks.reproduce.registry import PAPERS, WORLD, Section, is_part, sections
from benchmarks.reproduce.store import Record, Store, by_older_code

NOT_RUN = "not run here"
SHOWN = 12
"""Maximum number of a cell's figures on the page."""
IMAGES = "img/reproductions"
"""Folder of pictures, next to the page."""
_INTRO = """# Reproductions

Every table and figure of the five [papers](papers.md): what it says, and what Ostraka says. Written by

    make reproduce         # all that is not kept yet: a night, most of it training teachers
    make reproduce-quick   # the same in small, to see that it runs: its numbers are not on this page
    python -m benchmarks.reproduce --only tang-2022-table-3
    make reproduce-older SECONDS=300   # the cheapest rows by older code, and whether they still agree
    python -m benchmarks.reproduce --page

What was measured is kept in `build/reproductions` and not measured again; Ctrl-C keeps what has ended. What
this page shows is in `benchmarks/reproduce/records`. `python -m benchmarks.get_data` says where people get
the data.

A row is **by older code** when its settings or one of the definitions that its command names, directly or
not, have changed since. Comments, descriptions and texts of refusals do not count. CI runs the cheapest of
these rows again and fails where the numbers no longer agree.

- **met**: within 5% of the paper's number (of labels by personalisation and the like 10 to 15%), or within
  two deviations over seeds; of a picture, that what the paper says of it holds;
- **better**: further away, in the direction that is better;
- **differs**: anything else, and all that is on other data than the paper's, where what the paper says of it
  may hold all the same;
- **needs an agreement**: the owner of the data gives them to each applicant who signs, and nobody else may;
- **not published**: data that nobody outside has;
- **nothing to measure**: drawings, and lists of what the paper does.

Numbers are means, ± the deviation over seeds where there are several; the paper's are in brackets. The
command of a row is `python -m benchmarks.reproduce --only` and its name. Its time is of the last run, which
reads teachers and numbers that earlier runs kept: the first takes longer. Pictures are drawn from the same
numbers; hollow marks are what the paper prints as a number. The last section holds Ostraka against what
others give (`--only world`); numbers in brackets are theirs there, measured in the same run.
"""


def page(store: Store) -> str:
    """Return the whole page as Markdown."""
    return "\n".join([_INTRO, _summary(store), *(_section(one, store) for one in sections())])


def word_of(cell: Cell, record: Record | None) -> str:
    """Return a cell's word, or that it was not run."""
    if cell.lacking:
        return cell.lacking
    if record is None or record.outcome is None or record.quick:
        return NOT_RUN
    return cell.word(record.outcome)


def _summary(store: Store) -> str:
    lines = [
        "| paper | " + " | ".join([*Word, NOT_RUN, "measured by older code"]) + " |",
        "|---" * (len(Word) + 3) + "|",
    ]
    for one in sections():
        shown = [(cell, store.newest(cell)) for cell in one.cells]
        words = [word_of(cell, record) for cell, record in shown]
        stale = sum(_is_stale(cell, record) for cell, record in shown)
        counts = [*(words.count(word) for word in [*Word, NOT_RUN]), stale]
        lines.append(f"| {one.name} | " + " | ".join(map(str, counts)) + " |")
    return "\n".join(lines) + "\n"


def _is_stale(cell: Cell, record: Record | None) -> bool:
    return (
        record is not None
        and word_of(cell, record) != NOT_RUN
        and not cell.lacking
        and by_older_code(record, cell)
    )


def _section(section: Section, store: Store) -> str:
    other = "the paper" if section.id in PAPERS else "the other"
    lines = [
        f"## {section.name}",
        "",
        f"*{section.title}*",
        "",
        f"| name | shows | {other} | Ostraka | on | word |",
        "|---|---|---|---|---|---|",
        *(_row(cell, store.newest(cell)) for cell in section.cells),
        "",
    ]
    if pictures := [_picture(cell) for cell in section.cells if outcome_of_picture(cell, store)]:
        lines += ["### Drawn on the paper's axes", "", *pictures]
    return "\n".join(lines)


def outcome_of_picture(cell: Cell, store: Store) -> Outcome | None:
    """Return the whole numbers of a cell with a picture; None if there are none yet."""
    record = store.whole(cell) if cell.id in PICTURES else None
    return None if record is None else record.outcome


def _picture(cell: Cell) -> str:
    return f"`{cell.id}`: {cell.shows}. The paper: {cell.paper}.\n\n![{cell.shows}]({IMAGES}/{cell.id}.svg)\n"


def _row(cell: Cell, record: Record | None) -> str:
    word = word_of(cell, record)
    why = cell.other if word == NOT_RUN else " ".join(filter(None, (cell.other, cell.why)))
    more = f" More: [{cell.page}]({cell.page})." if cell.page else ""
    columns = (
        f"`{cell.id}`",
        cell.shows,
        cell.paper,
        _ostraka(cell, record),
        cell.data or "-",
        f"**{word}**" + (f": {why}" if why else "") + more,
    )
    return "| " + " | ".join(column.replace("|", "\\|").replace("\n", " ") for column in columns) + " |"


def _ostraka(cell: Cell, record: Record | None) -> str:
    if cell.run is None:
        return "-"
    if record is None or record.quick:
        return f"{NOT_RUN}; {duration(cell.seconds[1])} on two cores"
    if record.outcome is None:
        return f"failed: {record.error}"
    return (
        f"{_outcome_text(record.outcome, ratios=is_part(cell.id, WORLD))}<br>{_how_it_was_run(cell, record)}"
    )


def _outcome_text(outcome: Outcome, *, ratios: bool) -> str:
    lines = [
        f"{one.name}: {figure_text(one)}" + (f", {_ratio(one)}" if ratios else "")
        for one in outcome.figures[:SHOWN]
    ]
    left = len(outcome.figures) - SHOWN
    if left > 0:
        lines.append(f"and {left} more in the record")
    lines += [f"{claim.text}: {'holds' if claim.holds else '**does not hold**'}" for claim in outcome.claims]
    return "<br>".join(lines)


def figure_text(one: Figure) -> str:
    """Return a mean, its deviation over seeds, and the paper's number in brackets."""
    spread = "" if one.deviation is None else f" ± {_number(one.deviation)}"
    paper = "" if one.paper is None else f" ({_number(one.paper)})"
    return f"{_number(one.mean)}{spread}{paper}"


def _ratio(one: Figure) -> str:
    assert one.paper
    return f"{one.mean / one.paper:.3g} times"


def _number(value: float) -> str:
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.2f}" if abs(value) < 20 else f"{value:.1f}"


def _how_it_was_run(cell: Cell, record: Record) -> str:
    seeds = f"{len(record.seeds)} seeds" if len(record.seeds) > 1 else "one seed"
    older = "; by older code" if by_older_code(record, cell) else ""
    told = (seeds, _time(record), record.machine, record.ended[:10], f"commit {record.commit}")
    return f"<small>{', '.join(told)}{older}</small>"


def _time(record: Record) -> str:
    """Return a run's processor time, which other work on the machine does not affect."""
    if record.processor_seconds is None:
        return duration(record.seconds)
    return f"{duration(record.processor_seconds)} of a processor"


def duration(seconds: float) -> str:
    """Return a time as text."""
    if seconds < 90:
        return f"{max(seconds, 1):.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.0f} h"
