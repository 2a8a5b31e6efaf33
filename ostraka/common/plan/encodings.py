"""The words by which policies allow queries: `encodings` in `[policy]` of the guardian and of every party.

"plain": queries that parties see. "ckks": encrypted queries to heads that stay hidden whatever is sent,
linear in features or in their products. "ckks-square": encrypted queries to other heads with squares, whose
masks protect only against honest queries: whoever may ask must be trusted with the models behind them
(docs/confidential.md).
"""

from collections.abc import Collection, Iterable
from typing import Annotated, Literal

from pydantic import Field

from ostraka.common.plan.plan import Plan

Encoding = Literal["plain", "ckks", "ckks-square"]
Encodings = Annotated[tuple[Encoding, ...], Field(min_length=1)]
PLAIN_ALONE: tuple[Encoding, ...] = ("plain",)
QUERIES = {
    "plain": "plain queries",
    "ckks": "encrypted queries to hidden heads, linear or square",
    "ckks-square": "encrypted queries to heads that whoever asks can take, square-mlp or square-cnn",
}
"""What each word allows, for people."""


HIDDEN_HEADS = ("linear", "square")
"""Kinds of heads that masks hide whatever is sent; masks of other heads cover only honest queries."""


def encoding_of(head: str) -> Encoding:
    """Return the word that allows encrypted queries to teachers with this kind of head."""
    return "ckks" if head in HIDDEN_HEADS else "ckks-square"


def missing_encoding(plan: Plan, heads: Iterable[str], allowed: Collection[str]) -> Encoding | None:
    """Return the encoding that a policy must add before it allows `plan` for these heads, or None.

    Teachers without a head ("") need either word for encrypted queries; if there is none, "ckks" is missing.
    Rounds that release sums are not queries, and need no word.
    """
    if plan.releases_sums:
        return None
    if plan.encoding == "plain":
        return None if "plain" in allowed else "plain"
    if not {"ckks", "ckks-square"} & set(allowed):
        return "ckks"
    return next((encoding_of(head) for head in heads if head and encoding_of(head) not in allowed), None)
