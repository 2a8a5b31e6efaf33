"""The three tasks, and the libraries that do them, with their security."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

CLASSES = 10  # as the digits have
FEATURES = 64  # as the digits have
TEACHERS = 10
"""Teachers of the party whose ballots are verified: each count is 0 to 10."""
BATCH = 1000
"""Queries of ballots and argmaxes: enough that one-time work per batch is negligible."""
FULL = 4096
"""Queries of a head: one full ciphertext of Ostraka, one or two of other libraries."""

Installer = Literal["pip", "npm"]


class Task(StrEnum):
    """The three tasks."""

    BALLOTS = "verified ballots"
    ARGMAX = "argmax"
    HEAD = "linear head"


QUERIES = {Task.BALLOTS: BATCH, Task.ARGMAX: BATCH, Task.HEAD: FULL}

OWN_PROMISE = {
    Task.BALLOTS: "malicious party, two sides that do not collude, interactive: 2^-53 a batch",
    Task.ARGMAX: "two parties, semi-honest garbler, malicious evaluator",
    Task.HEAD: "malicious querying party: the head is hidden whatever it sends",
}


@dataclass(frozen=True)
class Peer:
    """A library that does a task.

    Attributes:
        name: its name in tables.
        task: the task.
        promise: its security setting.
        installer: of `package`.
        package: its name for the installer.
        program: file in `benchmarks/crypto/programs`, without its suffix.
        arguments: of the program, before queries and repetitions.
    """

    name: str
    task: Task
    promise: str
    installer: Installer
    package: str
    program: str
    arguments: tuple[str, ...] = ()


PEERS = (
    Peer(
        name="Prio3SumVec, @divviup/prio3",
        task=Task.BALLOTS,
        promise="malicious party, two sides that do not collude, not interactive, 128-bit field; "
        "each count is 0 to 15, no sum is checked",
        installer="npm",
        package="@divviup/prio3",
        program="prio3_ballots",
    ),
    Peer(
        name="SPU, Cheetah",
        task=Task.ARGMAX,
        promise="two parties, semi-honest",
        installer="pip",
        package="spu",
        program="spu_argmax",
        arguments=("CHEETAH",),
    ),
    Peer(
        name="SPU, Semi2k",
        task=Task.ARGMAX,
        promise="two parties, semi-honest, and a trusted dealer, whom the first party stands in for",
        installer="pip",
        package="spu",
        program="spu_argmax",
        arguments=("SEMI2K",),
    ),
    Peer(
        name="MPyC",
        task=Task.ARGMAX,
        promise="three parties, semi-honest, honest majority",
        installer="pip",
        package="mpyc",
        program="mpyc_argmax",
        arguments=("-M3",),
    ),
    Peer(
        name="TenSEAL",
        task=Task.HEAD,
        promise="semi-honest; the head is not hidden from whoever decrypts",
        installer="pip",
        package="tenseal",
        program="tenseal_head",
    ),
    Peer(
        name="DesiloFHE",
        task=Task.HEAD,
        promise="semi-honest; the head is not hidden from whoever decrypts",
        installer="pip",
        package="desilofhe",
        program="desilofhe_head",
    ),
)
