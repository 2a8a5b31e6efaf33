"""Computation of each role for a vote or a query, step by step, in one process and without a network."""

import secrets
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeVar

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from ostraka.common.crypto.ballot_circuits import ballot_circuit
from ostraka.common.crypto.circuit import Circuit
from ostraka.common.crypto.heads import Affine, EncryptedHead
from ostraka.common.crypto.inference import scheme_of
from ostraka.common.crypto.logits import LOGIT_BITS, Head
from ostraka.common.crypto.stream import SEED_BYTES
from ostraka.common.crypto.tally_circuits import argmax_circuit, check_circuit
from ostraka.common.crypto.transcripts import binding
from ostraka.common.crypto.two_party import CircuitEvaluation, Computation, Garbling
from ostraka.common.mechanism import GnMax
from ostraka.common.sharing.prime_field import PrimeField
from ostraka.common.sharing.ring import Ring

CLASSES = 10  # as the digits have
WHOLE_VOTE = 2**16  # what a vote adds to a count, in fixed-point units
QUERIES = 1000  # enough that one-time work is negligible
FULL = 4096
"""Number of queries in a ciphertext."""

T = TypeVar("T")


@dataclass(frozen=True)
class Work:
    """Processor ms of a role in a step, and bytes that it sends, for each of `instances`."""

    case: str
    instances: int
    role: str
    step: str
    milliseconds: float
    sent: float


@dataclass
class _Bench:
    """One case, with its steps timed separately."""

    case: str
    instances: int
    works: list[Work]

    def time(self, role: str, step: str, do: Callable[[], T], sent: Callable[[T], int] = lambda _: 0) -> T:
        start = time.process_time()
        result = do()
        each = (time.process_time() - start) / self.instances
        self.works.append(
            Work(self.case, self.instances, role, step, 1e3 * each, sent(result) / self.instances)
        )
        return result


def work() -> Iterator[Work]:
    """Yield every case: heads on encrypted queries, then the circuits of ballots and of the tally."""
    yield from inference("linear 64-10", "linear", (64, CLASSES), QUERIES)
    yield from inference("square-mlp 784-64-10", "square-mlp", (784, 64, CLASSES), FULL)
    ballots = ballot_circuit(GnMax(sigma=1.0).ballot, CLASSES, WHOLE_VOTE, LOGIT_BITS).circuit
    yield from computation(f"argmax of {CLASSES} logits", ballots, "party", QUERIES)
    for counts, modulus in (("counts", Ring(32)), ("verified counts", PrimeField(31))):
        check = check_circuit(CLASSES, modulus)
        yield from computation(f"check of {CLASSES} {counts}", check, "guardian", QUERIES)
        argmax = argmax_circuit(CLASSES, modulus)
        yield from computation(f"argmax of {CLASSES} {counts}", argmax, "guardian", QUERIES)


def inference(case: str, head: Head, sizes: tuple[int, ...], queries: int) -> Iterator[Work]:
    """Yield the steps of a head of these layer sizes on encrypted queries."""
    random = np.random.default_rng(0)
    bench = _Bench(case, queries, [])
    scheme = scheme_of(head)
    layers = tuple(
        Affine(scipy.sparse.csr_array(random.normal(0, 1 / inputs, (outputs, inputs))), np.zeros(outputs))
        for inputs, outputs in pairwise(sizes)
    )
    X = random.uniform(-1, 1, (queries, sizes[0]))
    keys = bench.time("querying party", "keys", scheme.keys)
    encrypted = bench.time("querying party", "encrypt", lambda: keys.encrypt(X), len)
    context = secrets.token_bytes(SEED_BYTES)
    public = bench.time("querying party", "public key", lambda: keys.public(context), len)
    evaluator = bench.time("party", "read keys", lambda: scheme.evaluator(public, context))

    def evaluate() -> bytes:
        heads = [EncryptedHead(layers)]
        (masked,) = evaluator.logits(heads, encrypted, secrets.token_bytes(SEED_BYTES), queries)
        return masked.ciphertexts

    masked = bench.time("party", "evaluate", evaluate, len)
    bench.time("querying party", "decrypt", lambda: keys.decrypt(masked, queries))
    yield from bench.works


def computation(case: str, circuit: Circuit, garbler: str, queries: int) -> Iterator[Work]:
    """Yield the steps of a circuit computed on random words, with the role that garbles."""
    bench = _Bench(case, queries, [])
    tag = binding("benchmark", case)
    words = _words(circuit, queries, circuit.words)
    computed = Computation.of(circuit, queries)
    garbling = Garbling(computed, secrets.token_bytes(SEED_BYTES), tag)
    evaluation = CircuitEvaluation(computed, tag)
    point = bench.time("querying party", "begin", evaluation.point, len)
    points = bench.time(garbler, "begin", lambda: garbling.points(point), len)
    extension = bench.time("querying party", "transfer", lambda: evaluation.extension(points), len)
    bench.time(garbler, "transfer", lambda: garbling.accept(extension))
    tables = bench.time(
        garbler, "garble", lambda: list(garbling.tables()), lambda parts: sum(map(len, parts))
    )
    for part in tables:
        evaluation.take(part)
    correction = bench.time("querying party", "correct", lambda: evaluation.correction(words), len)
    own = _words(circuit, queries, circuit.garbler_words)
    labels = bench.time(garbler, "label", lambda: garbling.labels(correction, own), len)
    bench.time("querying party", "evaluate", lambda: evaluation.evaluate(labels))
    yield from bench.works


def _words(circuit: Circuit, queries: int, words: int) -> NDArray[np.uint64]:
    return np.random.default_rng(0).integers(0, 2**circuit.word_bits, (queries, words), dtype=np.uint64)
