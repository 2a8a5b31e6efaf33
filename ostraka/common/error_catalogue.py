"""Explanations of all error codes: meaning, remedy, who can apply it, and whether a program tries again."""

import tomllib
from collections.abc import Mapping
from functools import cache

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from ostraka.common.errors import CATALOGUE, ErrorCode, Retry, status_of


class Explanation(BaseModel):
    """The explanation of one error code, in whole sentences.

    Attributes:
        means: what happened.
        do: what to do about it.
        who: who can do it.
        retry: what the program that made the call does.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    means: str = Field(pattern=r"\.$")
    do: str = Field(pattern=r"\.$")
    who: str = Field(min_length=1)
    retry: Retry


@cache
def catalogue() -> Mapping[ErrorCode, Explanation]:
    """Return the explanation of every code, in the codes' order; raise pydantic's error if one is wrong."""
    table = tomllib.loads(CATALOGUE.read_text(encoding="utf-8"))
    found = TypeAdapter(dict[ErrorCode, Explanation]).validate_python(table)
    return {code: found[code] for code in ErrorCode if code in found}


def page() -> str:
    """Return the text of docs/errors.md: every code, by group."""
    groups: dict[str, list[ErrorCode]] = {}
    for code in catalogue():
        groups.setdefault(code.partition(".")[0], []).append(code)
    sections = [f"## {group}\n\n" + "\n".join(map(_section, codes)) for group, codes in groups.items()]
    return "\n".join([_HEAD, *sections])


def _section(code: ErrorCode) -> str:
    explained = catalogue()[code]
    anchor = code.value.replace(".", "-")
    for_programs = f"`{status_of(code)}`; retry: {explained.retry}"
    return (
        f'### <a id="{anchor}"></a>`{code}`\n\n'
        f"{explained.means} **{explained.do}** ({explained.who}; {for_programs})\n"
    )


_HEAD = """\
# Error codes

<!-- Made from ostraka/common/error_catalogue.toml by `make errors`; change that file. -->

A command that cannot do its work prints `error [code]: sentence` ([exit status](commands.md#exit-status)).
Codes are stable: programs may rely on them. Servers send code and sentence as a gRPC status with
`google.rpc.ErrorInfo` (`domain` is `ostraka`, `reason` the code).

Each code: what happened, **what to do** (who can; gRPC status; what a program does that made the call). "You"
is whoever ran the command. As long as a run goes on, its program retries

- `never`: it is refused again until somebody has changed what the sentence names;
- the `same` at once: the call, or under a new id what a batch that died had asked;
- with `smaller` requests;
- `later`: in a while, and until then it goes on without that server, or leaves off.
"""
