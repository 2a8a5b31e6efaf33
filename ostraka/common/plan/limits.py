"""Which parts of a plan fit together: its mechanism, ring and shares, encrypted queries, blind tallies.

docs/confidential.md says which mechanisms support encrypted queries and blind tallies.
"""

from __future__ import annotations

import math

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.mechanism import JointTraining, Mechanism, Recipe, invalid_plan, labelling
from ostraka.common.plan.fields import PlanFields
from ostraka.common.sharing import FRACTION_BITS
from ostraka.common.sharing.ballots import VOTE, LabelSetCounts

MAX_SHARE_BYTES = 2**27
"""The largest share of a batch: 128 MiB; splitting it takes about five times as much memory."""
MAX_SET_DRAWS = 4_000_000
"""Maximum noise draws for the label sets of a batch: as many as a guardian keeps ready."""
MAX_VERIFIED_VALUES = 2**15
"""Maximum values of a verified sum: its digits are ten times as long, and take seconds to prove."""
MAX_ROUND_RECORDS = 2**18
"""Maximum records that a teacher sees in a round, counted with repetition: all of them are in memory."""


def check_mechanism(plan: PlanFields) -> None:
    """Raise `plan.invalid` if the mechanism does not fit the rest of a plan."""
    if plan.releases_sums:
        _check_sums(plan)
    if isinstance(plan.mechanism, JointTraining):
        _check_training(plan.mechanism.recipe)
    elif plan.mechanism.sums_records:
        pass
    elif plan.mechanism.multi_label != plan.multi_label:
        fitting = [kind for kind, known in labelling().items() if known.multi_label == plan.multi_label]
        raise invalid_plan(
            f"mechanism {plan.mechanism.kind} does not answer "
            f"{'sets of labels' if plan.multi_label else 'single labels'}; "
            f"choose one of {', '.join(fitting)}"
        )
    if plan.mechanism.by_record and plan.mechanism.labels_queries:
        _check_by_record(plan)
    _check_adjacency(plan)
    _check_noise(plan)
    plan.mechanism.check_classes(plan.classes)
    _check_lattice(plan)
    _check_share(plan)
    _check_sets(plan)


def _check_by_record(plan: PlanFields) -> None:
    """Raise unless every record can answer once: all queries in one batch, and every record on each query."""
    if plan.batch_size != plan.queries:
        raise invalid_plan(
            f"mechanism {plan.mechanism.kind} asks all queries at once; "
            "make the batch as large as the queries"
        )
    if plan.variant != "none":
        raise invalid_plan(
            f"mechanism {plan.mechanism.kind} counts records and has no variants; set variant none"
        )


def _check_adjacency(plan: PlanFields) -> None:
    """Raise for an adjacency that the mechanism's bounds do not cover."""
    if plan.adjacency in plan.mechanism.adjacencies:
        return
    if plan.adjacency == "record":
        raise invalid_plan(
            f"mechanism {plan.mechanism.kind} protects labels and shows whose features they belong to; set "
            "the plan's adjacency to label"
        )
    raise invalid_plan(
        f"mechanism {plan.mechanism.kind} is charged by record; set the plan's adjacency to record"
    )


def _check_noise(plan: PlanFields) -> None:
    """Raise `quorum.too_small` if frozen parties may be fewer than those whose noise is relied on."""
    if plan.colluders < 0:
        raise OstrakaError(
            ErrorCode.QUORUM_TOO_SMALL,
            f"The noise of {plan.mechanism.relied_on} parties is relied on, and that of one more is not, but"
            f" the quorum is {plan.quorum}: ask for one of at least {plan.quorum - plan.colluders}, or rely"
            " on fewer.",
        )


def _check_training(recipe: Recipe) -> None:
    """Raise for rounds in which teachers see more records than allowed."""
    if recipe.steps * recipe.batch_size > MAX_ROUND_RECORDS:
        raise invalid_plan(
            f"a teacher is shown {recipe.steps * recipe.batch_size} records a round and takes "
            f"{MAX_ROUND_RECORDS}; choose fewer steps or a smaller batch_size"
        )


def _check_sums(plan: PlanFields) -> None:
    """Raise for settings that do not fit sums; a round releases exactly one."""
    if plan.ballots == "verified":
        _check_verified(plan)
    wanted: dict[str, str | int] = {
        "tally": "aggregate",
        "encoding": "plain",
        # Norms need the larger field.
        "ring_bits": 61 if plan.ballots == "verified" else 64,
        "batch_size": 1,
    }
    if plan.is_training:
        # The updates of all teachers of a party make one sum, so none of them can be absent.
        wanted["variant"] = "none"
    for name, value in wanted.items():
        if getattr(plan, name) != value:
            raise invalid_plan(
                f"mechanism {plan.mechanism.kind} releases one sum a round; set {name} {value}"
            )


def _check_share(plan: PlanFields) -> None:
    """Raise if a party's share of a batch is larger than sites accept."""
    row = plan.mechanism.width(plan.classes) * plan.modulus.element_bytes
    if row > MAX_SHARE_BYTES:
        raise invalid_plan(
            f"a share of one round takes more than {MAX_SHARE_BYTES} bytes; choose a smaller model"
        )
    if plan.batch_size * row > MAX_SHARE_BYTES:
        raise invalid_plan(
            f"a share of {plan.batch_size} queries takes more than {MAX_SHARE_BYTES} bytes; "
            f"ask for batches of at most {MAX_SHARE_BYTES // row} queries"
        )


def _check_sets(plan: PlanFields) -> None:
    """Raise if the label sets of a batch need more noise than a guardian draws ahead of its release."""
    sets = plan.mechanism.width(plan.classes)
    if isinstance(plan.mechanism.ballot, LabelSetCounts) and plan.batch_size * sets > MAX_SET_DRAWS:
        raise invalid_plan(
            f"{plan.batch_size} queries of {sets} label sets, each with noise of its own, take"
            f" {plan.batch_size * sets} draws, and {MAX_SET_DRAWS} are the most; lower max_positives, or ask"
            f" for batches of at most {MAX_SET_DRAWS // sets} queries"
        )


def _check_lattice(plan: PlanFields) -> None:
    """Raise for parameters that sums in steps of 2^-16 vote, in this ring, cannot represent."""
    step = 2.0**-FRACTION_BITS
    half = 2.0 ** (plan.ring_bits - 1 - FRACTION_BITS)
    sigma = min(plan.mechanism.sigmas, default=math.inf)
    check = plan.mechanism.noisy_check
    if sigma < step:
        raise invalid_plan(f"noise of sigma {sigma:g} is less than a step of ballots; ask for more noise")
    if check is not None and check.threshold >= half:
        raise invalid_plan(f"no sum in the ring reaches a threshold of {half:g}; ask for a lower one")


def check_ring(plan: PlanFields, voters: int) -> None:
    """Raise `plan.ring_too_small` unless every sum with its noise fits the plan's ring.

    `voters` are the teachers behind a sum, or the records if records vote or their gradients are clipped.
    Twice the votes plus the reach of the noise must stay below half the ring. Then sums stay below the
    quarter at which `Ring.distance` clips, and no outcome of any weight wraps around (docs/accounting.md). A
    student's scores add up to one vote per teacher to a count.
    """
    if fits_ring(plan.mechanism, plan.ring_bits, voters, plan.noise_growth):
        return
    advice = {
        31: "ask for less noise, or choose ballots unverified.",
        32: "open the session with ring_bits 64.",
    }
    raise OstrakaError(
        ErrorCode.PLAN_RING_TOO_SMALL,
        f"A ring of {plan.ring_bits} bits cannot hold {voters} votes and the noise: "
        + advice.get(plan.ring_bits, "ask for less noise."),
    )


def fits_ring(mechanism: Mechanism, ring_bits: int, voters: int, growth: float = 1.0) -> bool:
    """Whether every sum of this many voters with its noise fits a ring, as `check_ring` explains.

    `growth` is the factor by which the noise is wider than the mechanism says.
    """
    votes = voters * (2 if mechanism.takes_scores else 1)
    return 2 * votes + growth * mechanism.reach < 2.0 ** (ring_bits - 1 - FRACTION_BITS)


CIRCUIT_RING_BITS = 32
"""The ring in which garbled circuits output shares and take sums."""
CIRCUIT_FIELD_BITS = 31
"""The field in which they take sums of verified ballots: circuit words have at most 32 bits."""
MAX_COLUMNS = 256
"""Maximum number of ballot values, and of classes, that a circuit computes for one query."""
MAX_ENCRYPTED = 4096
"""Maximum number of queries in one encrypted batch: the slots of a ciphertext."""


def check_switches(plan: PlanFields) -> None:
    """Raise `plan.invalid` if encoding ckks or tally blind does not fit the rest of a plan."""
    if plan.ballots == "verified":
        _check_verified(plan)
    if plan.encoding == "plain" and plan.tally == "aggregate":
        if plan.base_transfers != "ed25519":
            raise invalid_plan(
                f"base_transfers {plan.base_transfers} is for garbled circuits, of which encoding plain with "
                "tally aggregate has none; leave it out"
            )
        return
    if plan.ballots == "verified" and plan.ring_bits != CIRCUIT_FIELD_BITS:
        raise invalid_plan(
            f"a blind tally of verified ballots takes a field of {CIRCUIT_FIELD_BITS} bits; set ring_bits to "
            "that, and where votes and noise need more choose ballots unverified or tally aggregate"
        )
    if plan.ballots == "unverified" and plan.ring_bits != CIRCUIT_RING_BITS:
        raise invalid_plan(
            f"garbled circuits compute in a ring of {CIRCUIT_RING_BITS} bits; set ring_bits to that"
        )
    if max(plan.classes, plan.mechanism.width(plan.classes)) > MAX_COLUMNS:
        raise invalid_plan(
            f"garbled circuits take at most {MAX_COLUMNS} classes, labels or label sets; lower "
            "max_positives, choose mechanism tau, or encoding plain with tally aggregate"
        )
    if plan.encoding == "ckks":
        _check_encrypted(plan)
    if plan.tally == "blind":
        _check_blind(plan.mechanism)


def unverifiable(mechanism: Mechanism, encoding: str, classes: int) -> str | None:
    """Return why ballots of such plans cannot be verified; None if they can (docs/verified-ballots.md)."""
    if encoding == "ckks":
        return "ballots on encrypted queries come out of garbled circuits and have no proof; choose plain"
    if mechanism.sums_records:
        values = mechanism.width(classes)
        if values <= MAX_VERIFIED_VALUES:
            return None
        return (
            f"a sum of {values} values is too long to be verified, and {MAX_VERIFIED_VALUES} are the most; "
            "choose a smaller model, or one without a Gram sum"
        )
    if mechanism.ballot.claim(1, classes, 1) is None:
        return _unprovable(mechanism)
    return None


def _check_verified(plan: PlanFields) -> None:
    problem = unverifiable(plan.mechanism, plan.encoding, plan.classes)
    if problem is not None:
        raise invalid_plan(f"{problem}, or ballots unverified")


def _unprovable(mechanism: Mechanism) -> str:
    unit = mechanism.ballot.verifiable.unit
    if unit < VOTE:
        return (
            f"verified, a ballot of all labels keeps nothing in steps of 1/{VOTE // unit} vote; clip it less"
        )
    return f"ballots of mechanism {mechanism.kind} are not votes, and only these have a proof"


def _check_encrypted(plan: PlanFields) -> None:
    if plan.mechanism.by_record:
        raise invalid_plan(
            f"mechanism {plan.mechanism.kind} looks records up among the queries, which encryption hides; "
            "choose encoding plain"
        )
    if plan.batch_size > MAX_ENCRYPTED:
        raise invalid_plan(f"a ciphertext holds {MAX_ENCRYPTED} queries; ask for batches of at most as many")


def _check_blind(mechanism: Mechanism) -> None:
    if not mechanism.blind:
        fitting = [kind for kind, known in labelling().items() if known.blind]
        raise invalid_plan(
            f"mechanism {mechanism.kind} needs the histogram itself; choose tally aggregate, or one of "
            f"{', '.join(fitting)}"
        )
