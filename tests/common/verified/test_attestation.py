"""Attestations: what tells one verifier share from any other, and what a party says of its own."""

import secrets
from dataclasses import replace

import numpy as np
import pytest

from ostraka.common.sharing.prime_field import PrimeField
from ostraka.common.sharing.statement import Norm, Statement
from ostraka.common.verified.attestation import Attester, share_digest
from ostraka.common.verified.layout import layout_of
from ostraka.common.verified.querier import Point, message

POINT = bytes(range(32))
STATEMENTS = {
    "sums": Statement(rows=4, cells=3, most=5, total=5),
    "counts": Statement(rows=4, cells=3, most=50, total=None),
    "squares": Statement(rows=4, cells=3, most=8, total=None, norm=Norm(2, 80)),
    "absolutes": Statement(rows=4, cells=3, most=8, total=None, norm=Norm(1, 12)),
}


@pytest.mark.parametrize("statement", STATEMENTS.values(), ids=STATEMENTS.keys())
@pytest.mark.parametrize("bits", [31, 61])
def test_a_party_attests_the_share_that_a_querying_party_makes_of_its_seed(
    bits: int, statement: Statement
) -> None:
    layouts, seed = [layout_of(statement, PrimeField(bits))] * 2, secrets.token_bytes(32)
    sent = message(layouts, b"batch", seed, Point(POINT))
    attester = Attester(layouts, b"batch", seed)
    assert attester.attest(POINT) == share_digest(layouts, b"batch", POINT, sent)
    assert attester.attest(bytes(32)) != attester.attest(POINT)


def test_a_digest_is_of_one_share_batch_point_and_statement() -> None:
    """Whatever differs, even by where one part ends and the next begins, has another digest."""
    statement = STATEMENTS["squares"]
    fields = PrimeField(31), PrimeField(61)
    statements = [
        statement,
        STATEMENTS["absolutes"],
        *(replace(statement, rows=5), replace(statement, cells=4), replace(statement, most=7)),
        *(replace(statement, norm=None), replace(statement, norm=None, total=5)),
        *(replace(statement, norm=Norm(2, 81)), replace(statement, norm=Norm(1, 80))),
    ]
    layouts = [[layout_of(one, field)] for one in statements for field in fields]
    layouts.append([layout_of(statement, fields[0])] * 2)
    told = [(layout, b"batch", POINT, b"share") for layout in layouts]
    told += [
        (layouts[0], b"batcH", POINT, b"share"),
        (layouts[0], b"batch", POINT[::-1], b"share"),
        (layouts[0], b"batch", POINT, b"sharE"),
        (layouts[0], b"batch" + POINT[:1], POINT[1:], b"share"),
        (layouts[0], b"batch", POINT, b""),
    ]
    digests = [share_digest(*one) for one in told]
    assert len(set(digests)) == len(digests)
    assert set(np.unique([len(digest) for digest in digests])) == {32}
