"""Every error code explained: what it means, what to do, and who can do it."""

import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from ostraka.common.errors import ErrorCode, status_of

FILE = Path(__file__).with_name("error_catalogue.toml")


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


def page() -> str:
    """docs/errors.md: every code under its group."""
    groups: dict[str, list[ErrorCode]] = {}
    for code in catalogue():
        groups.setdefault(code.partition(".")[0], []).append(code)
    sections = [f"## {group}\n\n" + "\n".join(map(_section, codes)) for group, codes in groups.items()]
    return "\n".join([_HEAD, *sections])


def _section(code: ErrorCode) -> str:
    told = catalogue()[code]
    anchor = code.value.replace(".", "-")
    return (
        f'### <a id="{anchor}"></a>`{code}`\n\n{told.means} **{told.do}** ({told.who}; `{status_of(code)}`)\n'
    )


_HEAD = """\
# Error codes

<!-- Made from ostraka/common/error_catalogue.toml by `make errors`; change that file. -->

A command that cannot do its work prints `error [code]: sentence` ([exit status](commands.md#exit-status)).
Codes are stable: programs may rely on them. Servers send code and sentence as a gRPC status with
`google.rpc.ErrorInfo` (`domain` is `ostraka`, `reason` the code).

Each code: what happened, **what to do** (who can; gRPC status). "You" is whoever ran the command.
"""
