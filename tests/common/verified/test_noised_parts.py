"""Ballots with the noise of their party pass where votes and noise within the bound can be them, else not."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.mechanism import DistributedGnMax, GnMax
from ostraka.common.noise import ExactNoise
from ostraka.common.plan.plan import Plan
from ostraka.common.sharing.ballots import VOTE
from ostraka.common.sharing.statement import Statement
from ostraka.common.verified import querier, verifier
from ostraka.common.verified.expansion import expand
from ostraka.common.verified.noised_parts import (
    DEVIATIONS,
    NoisedPart,
    claim_noised,
    draw_bounded,
    find_bound,
    parts_with_noise,
)
from ostraka.common.verified.parts import check_parts, join_ballots, parts_of
from ostraka.common.verified.writing import cheapest, shift_digits, write
from ostraka.protos.ostraka.v1 import common_pb2
from tests.common.noise.laws import GAUSSIAN, fits
from tests.common.plan.test_switches import FIELDS
from tests.common.verified.ballots import Ballot

QUERIES = 6
TEACHERS = 7
SIGMA = 3.0
CLASSES = 10
SHAPE = QUERIES, CLASSES
EVERYBODY = np.ones((1, QUERIES), np.bool_)


def plan_of(bits: int = 31, honest: int = 4, sigma: float = SIGMA) -> Plan:
    mechanism = DistributedGnMax(sigma=sigma, honest=honest)
    parties = tuple(f"p{number:05}" for number in range(honest + 1))
    fields = FIELDS | {"parties": parties, "quorum": honest + 1, "classes": CLASSES, "mechanism": mechanism}
    return Plan(**fields | {"ring_bits": bits, "batch_size": QUERIES})


def participant_of(*weights: int, copies: int = 1, persons: int = 1) -> common_pb2.Participant:
    cohorts = [
        common_pb2.Cohort(groups=["all"], teachers=TEACHERS, weight=weight, copies=[copies])
        for weight in weights or (VOTE,)
    ]
    return common_pb2.Participant(site="p", cohorts=cohorts, max_votes_per_person=persons)


class Noised(Ballot):
    """One party's ballots with noise of its own, which it may say are others."""

    def __init__(
        self,
        plan: Plan,
        participant: common_pb2.Participant,
        present: NDArray[np.bool_] = EVERYBODY,
        steps: NDArray[np.int64] | None = None,
    ) -> None:
        self.plan = plan
        self.parts = parts_with_noise(plan, participant, present)
        self.steps = self.draw(participant, present) if steps is None else steps
        super().__init__([part.layout for part in self.parts], self.counts_of(self.steps))

    def draw(self, participant: common_pb2.Participant, present: NDArray[np.bool_]) -> NDArray[np.int64]:
        """Return votes of all who are present, which are for one class, and drawn noise, in steps."""
        draws = self.plan.mechanism.party_draws(*SHAPE)
        steps: NDArray[np.int64] = (draw_bounded(draws, ExactNoise()) * VOTE).astype(np.int64)
        weights = [cohort.weight * TEACHERS for cohort in participant.cohorts]
        steps[:, 3] += np.array(weights) @ present
        return steps

    def counts_of(self, steps: NDArray[np.int64]) -> list[NDArray[np.int64]]:
        return [part.counts(steps / VOTE) for part in self.parts]

    def sides(self) -> tuple[list[NDArray[np.uint64]], list[NDArray[np.uint64]]]:
        """Return the shares of counts of the querying party and of the guardian."""
        return (
            querier.count_shares(self.layouts, self.context, self.seed),
            verifier.count_shares(self.layouts, self.submission),
        )

    def joined(self) -> NDArray[np.int64]:
        """Return what both sides' shares of ballots add up to, in steps."""
        field = self.plan.modulus
        mine, theirs = (join_ballots(self.parts, counts, field, SHAPE) for counts in self.sides())
        return field.lift(field.add(mine, theirs))

    def pretend(self, at: tuple[int, int], steps: int) -> None:
        """Share other steps in one count, by the digits that an honest party would write."""
        said = self.steps.copy()
        said[at] = steps
        for place, (layout, counts) in enumerate(zip(self.layouts, self.counts_of(said), strict=True)):
            self.prover.alter(layout.writing.write(counts) - self.prover._digits[place], part=place)


@pytest.mark.parametrize("bits", [31, 61])
@pytest.mark.parametrize("weights", [(VOTE,), (VOTE, 50_001, VOTE)])
def test_votes_with_noise_are_accepted_and_add_up(bits: int, weights: tuple[int, ...]) -> None:
    present = np.ones((len(weights), QUERIES), np.bool_)
    made = Noised(plan_of(bits), participant_of(*weights), present)
    assert made.accepted()
    assert np.array_equal(made.joined(), made.steps)


SCHEDULES = np.array([[1, 1, 0, 0, 1, 0], [1, 0, 1, 0, 1, 0]], np.bool_)
"""Of two cohorts of different weights: both, either or none of them votes."""


def test_queries_on_which_others_vote_are_parts_of_their_own() -> None:
    made = Noised(plan_of(), participant_of(VOTE, 2 * VOTE), SCHEDULES)
    found = {tuple(part.queries): part.layout.statement for part in made.parts}
    votes = {queries: statement.most + statement.least for queries, statement in found.items()}
    assert votes == {
        (3, 5): 0,
        (1,): TEACHERS * VOTE,
        (2,): 2 * TEACHERS * VOTE,
        (0, 4): 3 * TEACHERS * VOTE,
    }
    assert made.accepted()
    assert np.array_equal(made.joined(), made.steps)


def test_cohorts_that_can_give_the_same_share_a_part() -> None:
    (part,) = parts_with_noise(
        plan_of(), participant_of(VOTE, VOTE), np.eye(2, dtype=np.bool_).repeat(3, axis=1)
    )
    assert part.layout.statement.rows == QUERIES


@pytest.mark.parametrize("bits", [31, 61])
@pytest.mark.parametrize("query", range(4))
def test_a_count_may_reach_what_its_query_allows_and_not_exceed_it_by_a_step(bits: int, query: int) -> None:
    """Nobody's noise excuses a vote more than those give whom the ticket schedules for that query."""
    votes = np.array([TEACHERS, 2 * TEACHERS]) @ SCHEDULES * VOTE
    bound = find_bound(plan_of().mechanism.party_draws(*SHAPE)[0])
    highest = int(votes[query]) + bound
    at = (query, 2)
    for within in (-bound, highest):
        steps = np.zeros(SHAPE, np.int64)
        steps[at] = within
        made = Noised(plan_of(bits), participant_of(VOTE, 2 * VOTE), SCHEDULES, steps)
        assert made.accepted()
        made.pretend(at, within)
        assert made.accepted()
    for beyond in (-bound - 1, highest + 1, 100 * highest, -100 * bound):
        made = Noised(plan_of(bits), participant_of(VOTE, 2 * VOTE), SCHEDULES, np.zeros(SHAPE, np.int64))
        made.pretend(at, beyond)
        assert not made.accepted()


@pytest.mark.parametrize("place", [0, 2, -1])
def test_a_digit_beyond_its_top_is_refused_though_the_count_is_in_range(place: int) -> None:
    """The next place, or for the last one the lowest, makes up for it."""
    made = Noised(plan_of(), participant_of())
    digits = made.layouts[0].writing.counts.digits
    change = np.zeros((len(digits), QUERIES * CLASSES), np.int64)
    change[place, 0] = digits[place].span + 1
    change[(place + 1) % len(digits), 0] -= 1
    made.prover.alter(change.ravel())
    assert not made.accepted()


def test_what_both_sides_hold_is_votes_with_their_noise_and_nothing_finer() -> None:
    """All that a party shares are digits, and these are what writes the noised counts."""
    made = Noised(plan_of(), participant_of(VOTE, 2 * VOTE), SCHEDULES)
    assert np.array_equal(made.joined(), made.steps)
    start = 0
    for number, part in enumerate(made.parts):
        writing = part.layout.writing
        field = part.layout.field
        end = start + part.layout.share_bytes
        mine = expand(field, "digits", made.context, number, made.seed, writing.size)
        (theirs,) = field.from_bytes(made.submission.share[start:end], 1, writing.size)
        digits = field.lift(field.add(mine, theirs))
        assert np.array_equal(digits, writing.write(made.steps[part.queries]))
        start = end
    assert start == len(made.submission.share)


def test_what_belongs_to_another_party_batch_or_part_is_refused() -> None:
    made, other = (Noised(plan_of(), participant_of(VOTE, 2 * VOTE), SCHEDULES) for _ in range(2))
    assert made.accepted()
    assert not made.accepted(context=b"another batch")
    assert not made.accepted(proof=other.prover.prove(other.challenge))
    assert not made.accepted(told=other.message)
    assert not made.accepted(submission=other.submission)
    own = made.prover.prove(made.challenge)
    first = made.layouts[0].proof_bytes
    theirs = other.prover.prove(other.challenge)
    assert not made.accepted(proof=own[:first] + theirs[first:])
    assert not made.accepted(proof=theirs[:first] + own[first:])


@pytest.mark.parametrize("apart", [1, CLASSES, QUERIES * CLASSES])
def test_exchanged_coordinates_are_refused(apart: int) -> None:
    """Counts of a query, of two queries, or two places of one number change places after the proof."""
    made = Noised(plan_of(), participant_of())
    field = made.layouts[0].field
    values = field.from_bytes(made.submission.share, 1, made.layouts[0].writing.size)
    values[0, [0, apart]] = values[0, [apart, 0]]
    assert not made.accepted(submission=replace(made.submission, share=field.to_bytes(values)))


def test_noise_is_cut_off_at_the_bound_alone() -> None:
    (draw,) = plan_of().mechanism.party_draws(2000, CLASSES)
    scale = draw.sigma * VOTE
    bound = find_bound(draw)
    assert DEVIATIONS * scale <= bound < DEVIATIONS * scale + 1
    assert fits((draw_bounded([draw], ExactNoise()).ravel() * VOTE).astype(np.int64), GAUSSIAN, scale)

    class Far:
        def gaussian(self, sigma: float, shape: tuple[int, ...]) -> NDArray[np.int64]:
            return np.resize(np.array([2**40, -(2**40), 5]), shape)

        laplace = gaussian

    drawn = draw_bounded([draw], Far()) * VOTE
    assert set(drawn.ravel().tolist()) == {bound, -bound, 5.0}
    twice = draw_bounded([draw, draw], Far()) * VOTE
    assert twice.max() == 2 * bound == -claim_noised([draw, draw], 1, 0).least


@settings(max_examples=60)
@given(below=st.integers(0, 2**40), most=st.integers(1, 2**40), share=st.floats(0, 1))
def test_every_number_of_a_range_comes_back_from_its_digits(below: int, most: int, share: float) -> None:
    digits = shift_digits(-below, most)
    assert write(np.zeros(1, np.int64), digits).any() == 0, "zeros fill wires"
    for number in (int(share * (most + below)) - below, most, -below):
        written = write(np.array([number]), digits).ravel().tolist()
        assert all(d.least <= value <= d.top for value, d in zip(written, digits, strict=True))
        assert sum(value * d.weight for value, d in zip(written, digits, strict=True)) == number


@given(below=st.integers(0, 300), most=st.integers(1, 300))
def test_digits_write_a_range_and_nothing_else(below: int, most: int) -> None:
    digits = shift_digits(-below, most)
    sums = {0}
    for digit in digits:
        sums = {total + digit.weight * value for total in sums for value in range(digit.least, digit.top + 1)}
    assert sums == set(range(-below, most + 1))
    assert [(digit.weight, digit.span) for digit in digits] == [
        (digit.weight, digit.span) for digit in cheapest(below + most)
    ]


@pytest.mark.parametrize(
    "changes",
    [{"lowest": 1}, {"total": 3}, {"lowest": -1, "signed": True}, {"lowest": 0, "signed": True}],
    ids=["0 is none of them", "a total", "signed", "signed without a norm"],
)
def test_claims_that_no_digits_hold_are_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"lowest|norm"):
        Statement(**{"rows": 1, "cells": 2, "most": 5, "total": None, "lowest": -4} | changes)


@pytest.mark.parametrize(
    ("participant", "moved"),
    [
        (participant_of(persons=4), 4),
        (participant_of(copies=4), 4),
        (participant_of(VOTE, 4 * VOTE), 4),
        (participant_of(3 * VOTE // 2, copies=3), 4.5),
    ],
)
def test_a_unit_that_moves_counts_too_far_beside_the_bound_is_refused(
    participant: common_pb2.Participant, moved: float
) -> None:
    """Noise of each party is 1.5 votes, of which a unit may move two deviations."""
    check_parts(plan_of(sigma=moved), participant)
    with pytest.raises(OstrakaError, match=f"by {moved:g} votes, .* hides at most 3") as refused:
        check_parts(plan_of(), participant)
    assert refused.value.code is ErrorCode.PLAN_INVALID
    check_parts(plan_of(), participant_of(persons=3))


@pytest.mark.parametrize(("bits", "sigma"), [(31, 1500.0), (61, 2.0**36)])
def test_noise_beyond_the_field_is_refused(bits: int, sigma: float) -> None:
    with pytest.raises(OstrakaError, match=f"field of {bits} bits") as refused:
        check_parts(plan_of(bits, honest=1, sigma=sigma), participant_of())
    assert refused.value.code is ErrorCode.PLAN_INVALID


def test_where_the_guardian_draws_noise_votes_are_proved_as_ever() -> None:
    plan = plan_of().model_copy(update={"mechanism": GnMax(sigma=SIGMA)})
    assert parts_with_noise(plan, participant_of(), EVERYBODY) == ()
    (part,) = parts_of(plan, participant_of(), EVERYBODY)
    assert not isinstance(part, NoisedPart)
    assert part.layout.statement.total == TEACHERS
