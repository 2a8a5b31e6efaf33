"""Every error code explained: what it means, what to do, and who can do it."""

import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from ostraka.common.errors import ErrorCode, status_of

FILE = Path(__file__).with_name("error_catalogue.toml")
REFUSED, INTERNAL = 2, 1


class Explanation(BaseModel):
    """What is said of one code, in whole sentences.

    Attributes:
        means: what happened.
        do: what makes it good.
        who: who can do that.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    means: str = Field(pattern=r"\.$")
    do: str = Field(pattern=r"\.$")
    who: str = Field(min_length=1)


@cache
def catalogue() -> Mapping[ErrorCode, Explanation]:
    """Return the explanation of every code, in the codes' order; raise pydantic's error for a wrong one."""
    table = tomllib.loads(FILE.read_text(encoding="utf-8"))
    found = TypeAdapter(dict[ErrorCode, Explanation]).validate_python(table)
    return {code: found[code] for code in ErrorCode if code in found}


def exit_status(code: ErrorCode) -> int:
    """Return the exit status of a command that ends with `code`."""
    return INTERNAL if code is ErrorCode.INTERNAL else REFUSED


def page() -> str:
    """docs/errors.md: a table of groups, then every code under its group."""
    groups: dict[str, list[ErrorCode]] = {}
    for code in catalogue():
        groups.setdefault(code.partition(".")[0], []).append(code)
    contents = [f"- [{group}](#{group}): {_links(codes)}" for group, codes in groups.items()]
    sections = [f"## {group}\n\n" + "\n".join(map(_section, codes)) for group, codes in groups.items()]
    return "\n".join([_HEAD, *contents, "", "\n".join(sections)])


def _links(codes: list[ErrorCode]) -> str:
    return ", ".join(f"[`{code}`](#{_anchor(code)})" for code in codes)


def _anchor(code: ErrorCode) -> str:
    return code.value.replace(".", "-")


def _section(code: ErrorCode) -> str:
    told = catalogue()[code]
    return (
        f'<a id="{_anchor(code)}"></a>\n\n'
        f"### `{code}`\n\n"
        f"{told.means}\n\n"
        f"**What to do.** {told.do}\n\n"
        f"Who can: {told.who}. gRPC status: `{status_of(code)}`. Exit status: {exit_status(code)}.\n"
    )


_HEAD = """\
# Error codes

<!-- Made from common/error_catalogue.toml by `make errors`; change that file. -->

A command that cannot do its work prints one line, `error [code]: sentence`, and leaves with exit status 2;
with 1 where the mistake is Ostraka's own. The sentence says what was wrong and what to do now. Codes are
stable: programs may rely on them. Servers send the same code and sentence as a gRPC status with
`google.rpc.ErrorInfo` (`domain` is `ostraka`, `reason` the code). A labelling run that meets a limit after
labels came keeps them, leaves with 3, and has the code in `stopped` of its JSON.
"""
