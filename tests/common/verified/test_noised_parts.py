"""Ballots with the noise of their party: valid votes with noise within the bound pass, and no others."""

from __future__ import annotations

from dataclasses import replace

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
from ostraka.common.verified import querier, verifier
from ostraka.common.verified.noised_parts import (
    DEVIATIONS,
    NoisePart,
    noise_parts,
)
from ostraka.common.verified.parts import AnyPart, Part, check_parts, join_ballots, parts_of
from ostraka.common.verified.writing import balance_digits, reach_of, write
from ostraka.protos.ostraka.v1 import common_pb2
from tests.common.noise.laws import GAUSSIAN, fits
from tests.common.plan.test_switches import FIELDS
from tests.common.verified.ballots import Ballot

QUERIES = 6
TEACHERS = 7
SIGMA = 3.0
CLASSES = 10


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
    """One party's votes and noise, by parts."""

    def __init__(self, plan: Plan, participant: common_pb2.Participant, seed: int = 0) -> None:
        self.plan = plan
        everybody = np.ones((len(participant.cohorts), QUERIES), np.bool_)
        self.parts: tuple[AnyPart, ...] = parts_of(plan, participant, everybody)
        random = np.random.default_rng(seed)
        self.drawn = [self._draw(part, random) for part in self.parts]
        super().__init__(
            [part.layout for part in self.parts],
            [part.counts(drawn) for part, drawn in zip(self.parts, self.drawn, strict=True)],
        )

    @property
    def noise(self) -> NoisePart:
        part = self.parts[-1]
        assert isinstance(part, NoisePart)
        return part

    def _draw(self, part: AnyPart, random: np.random.Generator) -> NDArray[np.float64]:
        if isinstance(part, NoisePart):
            return part.draw_noise(ExactNoise())
        assert isinstance(part, Part)
        voters = TEACHERS * len(part.cohorts)
        return random.multinomial(voters, [1 / CLASSES] * CLASSES, QUERIES).astype(np.float64)

    def joined(self) -> NDArray[np.int64]:
        """Return what both sides' shares add up to, in steps."""
        field = self.plan.modulus
        sides = (
            querier.count_shares(self.layouts, self.context, self.seed),
            verifier.count_shares(self.layouts, self.submission),
        )
        shape = QUERIES, CLASSES
        mine, theirs = (join_ballots(self.parts, counts, field, shape) for counts in sides)
        return field.lift(field.add(mine, theirs))

    def rewrite(self, noise: NDArray[np.int64]) -> None:
        """Share other noise, in steps, by the digits that an honest party would write."""
        written = self.noise.layout.writing.write(noise)
        self.prover.alter(written - self.prover._digits[-1], part=len(self.parts) - 1)


@pytest.mark.parametrize("bits", [31, 61])
@pytest.mark.parametrize("weights", [(VOTE,), (VOTE, 50_001, VOTE)])
def test_votes_and_noise_are_accepted_and_add_up(bits: int, weights: tuple[int, ...]) -> None:
    made = Noised(plan_of(bits), participant_of(*weights))
    assert made.accepted()
    expected = sum(
        np.rint(drawn * (part.weight if isinstance(part, Part) else VOTE)).astype(np.int64)
        for part, drawn in zip(made.parts, made.drawn, strict=True)
    )
    assert np.array_equal(made.joined(), expected)


def with_noise(steps: int, bits: int = 31, at: tuple[int, int] = (2, 3)) -> Noised:
    """Return ballots whose noise in one count is so many steps, and 0 in all others."""
    made = Noised(plan_of(bits), participant_of())
    noise = np.zeros((QUERIES, CLASSES), np.int64)
    noise[at] = steps
    made.rewrite(noise)
    return made


@pytest.mark.parametrize("bits", [31, 61])
@pytest.mark.parametrize("sign", [1, -1])
def test_noise_may_reach_the_bound_and_not_exceed_it_by_a_step(bits: int, sign: int) -> None:
    (part,) = noise_parts(plan_of(bits), participant_of(), QUERIES)
    bound = part.layout.statement.most
    assert with_noise(sign * bound, bits).accepted()
    assert not with_noise(sign * (bound + 1), bits).accepted()


@pytest.mark.parametrize("deviations", [13, -13, 100, 10**4])
def test_too_much_noise_is_refused(deviations: int) -> None:
    assert not with_noise(int(deviations * SIGMA / 2 * VOTE)).accepted()


@pytest.mark.parametrize("place", [0, 2, -1])
def test_a_digit_of_noise_beyond_its_top_is_refused_though_the_noise_is_small(place: int) -> None:
    """The next place, or for the last one the lowest, makes up for it."""
    made = Noised(plan_of(), participant_of())
    digits = made.noise.layout.writing.counts.digits
    change = np.zeros((len(digits), QUERIES * CLASSES), np.int64)
    change[place, 0] = digits[place].span + 1
    change[(place + 1) % len(digits), 0] -= 1
    made.prover.alter(change.ravel(), part=1)
    assert not made.accepted()


@pytest.mark.parametrize("votes", [1, -1, TEACHERS])
def test_a_forged_split_is_refused(votes: int) -> None:
    """Votes that nobody has are taken off the noise, so that what is tallied is as it was."""
    made = Noised(plan_of(), participant_of())
    before = made.joined()
    counts = made.counts[0].copy()
    counts[0, :2] += votes
    noise = made.counts[1].copy()
    noise[0, :2] -= votes * VOTE
    made.prover.alter(counts.ravel() - made.prover._digits[0])
    made.rewrite(noise)
    assert np.array_equal(made.joined(), before)
    assert not made.accepted()


def test_noise_does_not_excuse_votes_beyond_the_teachers() -> None:
    made = Noised(plan_of(), participant_of())
    change = np.zeros(QUERIES * CLASSES, np.int64)
    change[int(made.counts[0].ravel().argmin())] = 1
    made.prover.alter(change)
    assert not made.accepted()


def test_what_belongs_to_another_party_batch_or_part_is_refused() -> None:
    made, other = (Noised(plan_of(), participant_of(), seed) for seed in (1, 2))
    assert made.accepted()
    assert not made.accepted(context=b"another batch")
    assert not made.accepted(proof=other.prover.prove(other.challenge))
    assert not made.accepted(told=other.message)
    assert not made.accepted(submission=other.submission)
    own = made.prover.prove(made.challenge)
    votes_end = made.layouts[0].proof_bytes
    theirs = other.prover.prove(other.challenge)
    assert not made.accepted(proof=own[:votes_end] + theirs[votes_end:])
    assert not made.accepted(proof=theirs[:votes_end] + own[votes_end:])


@pytest.mark.parametrize("apart", [1, CLASSES, QUERIES * CLASSES])
def test_exchanged_coordinates_are_refused(apart: int) -> None:
    """Counts of a query, of two queries, or two places of one number change places after the proof."""
    made = Noised(plan_of(), participant_of())
    field = made.layouts[1].field
    start = made.layouts[0].share_bytes
    share = made.submission.share
    values = field.from_bytes(share[start:], 1, made.layouts[1].writing.size)
    values[0, [0, apart]] = values[0, [apart, 0]]
    altered = share[:start] + field.to_bytes(values)
    assert not made.accepted(submission=replace(made.submission, share=altered))


def test_noise_is_cut_off_at_the_bound_alone() -> None:
    (part,) = noise_parts(plan_of(), participant_of(), 2000)
    scale = part.draw.sigma * VOTE
    assert part.layout.statement.most == pytest.approx(DEVIATIONS * scale, abs=32)
    assert fits((part.draw_noise(ExactNoise()).ravel() * VOTE).astype(np.int64), GAUSSIAN, scale)

    class Far:
        def gaussian(self, sigma: float, shape: tuple[int, ...]) -> NDArray[np.int64]:
            return np.resize(np.array([2**40, -(2**40), 5]), shape)

        laplace = gaussian

    drawn = part.draw_noise(Far()) * VOTE
    assert set(drawn.ravel().tolist()) == {part.layout.statement.most, -part.layout.statement.most, 5.0}


@settings(max_examples=60)
@given(most=st.integers(1, 2**40), share=st.floats(-1, 1))
def test_balanced_digits_write_every_number_and_few_others(most: int, share: float) -> None:
    digits = balance_digits(most)
    assert most <= reach_of(digits) < most + 32
    assert balance_digits(reach_of(digits)) == digits, "a claim of what digits write is exact"
    for number in (int(most * share), most, -most):
        written = write(np.array([number]), digits).ravel().tolist()
        assert all(d.least <= value <= d.top for value, d in zip(written, digits, strict=True))
        assert sum(value * d.weight for value, d in zip(written, digits, strict=True)) == number


@given(most=st.integers(1, 300))
def test_balanced_digits_leave_no_gap(most: int) -> None:
    sums = {0}
    for digit in balance_digits(most):
        sums = {total + digit.weight * value for total in sums for value in range(digit.least, digit.top + 1)}
    reach = reach_of(balance_digits(most))
    assert sums == set(range(-reach, reach + 1))


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
        noise_parts(plan_of(bits, honest=1, sigma=sigma), participant_of(), QUERIES)
    assert refused.value.code is ErrorCode.PLAN_INVALID


def test_where_the_guardian_draws_noise_none_is_proved() -> None:
    plan = plan_of().model_copy(update={"mechanism": GnMax(sigma=SIGMA)})
    assert noise_parts(plan, participant_of(), QUERIES) == ()
