"""Heads with squares by products of features, compared with the same heads in SEAL's CKKS, in one run.

`python -m benchmarks.confidential.squares`: teachers of scikit-learn's digits, projected to a number of
features. `square_32` is a network for `python -m benchmarks.train_mnist --projection 64 --model`.
"""

import secrets
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Annotated, TypeVar

import numpy as np
import typer
from numpy.typing import NDArray
from torch import nn

from ostraka.common.console.cli import run, write_json
from ostraka.common.crypto.heads import EncryptedHead
from ostraka.common.crypto.inference import scheme_of
from ostraka.common.crypto.linear.products import expand
from ostraka.common.crypto.logits import LOGIT_BITS, LOGIT_FRACTION, Head
from ostraka.common.crypto.stream import SEED_BYTES
from ostraka.common.datasets import digits
from ostraka.common.learning.encoders import load_encoder
from ostraka.common.learning.precision import LogitLayer
from ostraka.common.task import Task, infer_task
from ostraka.services.teachers import TrainingConfig, train
from ostraka.services.teachers.encrypted_heads import head_of
from ostraka.services.teachers.nets import Networks
from ostraka.services.teachers.networks import Square

HIDDEN = 32
"""Units that square, as in the prototype; with products of features they cost nothing."""
T = TypeVar("T")
app = typer.Typer(add_completion=False)


def square_32(shape: tuple[int, ...], classes: int) -> nn.Module:
    """Return a network of HIDDEN units that square."""
    features = int(np.prod(shape))
    first = nn.Linear(features, HIDDEN)
    nn.init.normal_(first.weight, std=1 / (3 * np.sqrt(3 * features)))
    return nn.Sequential(nn.Flatten(), first, Square(), LogitLayer(HIDDEN, classes))


@dataclass(frozen=True)
class Figures:
    """Result of one way to evaluate one batch: processor milliseconds and bytes per query, and errors."""

    head: Head
    features: int
    queries: int
    teachers: int
    sent: float
    sent_by_a_teacher: float
    encrypt_ms: float
    decrypt_ms_a_teacher: float
    evaluate_ms_a_teacher: float
    error_bits: float
    votes_changed: float

    @property
    def sentence(self) -> str:
        """The result as a sentence."""
        return (
            f"{self.head:10s} d = {self.features}, {self.teachers} teachers, {self.queries:4d} queries: "
            f"{self.sent:,.0f} B up, {self.sent_by_a_teacher:.0f} B down a teacher; querying party "
            f"{self.encrypt_ms:.3f} ms and {self.decrypt_ms_a_teacher:.4f} a teacher, party "
            f"{self.evaluate_ms_a_teacher:.4f} ms a teacher; error 2^{self.error_bits:.1f}, "
            f"votes changed {self.votes_changed:.3%}"
        )


@app.command()
def squares(
    teachers: Annotated[list[int], typer.Option(help="How many; may be repeated.")] = [20, 50],  # noqa: B006
    features: Annotated[list[int], typer.Option(help="How many; may be repeated.")] = [32, 64],  # noqa: B006
    queries: Annotated[list[int], typer.Option(help="In a batch; may be repeated.")] = [256, 1024, 4096],  # noqa: B006
    json: Annotated[str | None, typer.Option(help="File for the figures; - is stdout.")] = None,
) -> None:
    """Print what a batch costs each side by products, and under CKKS."""
    found = []
    for width in features:
        X, heads = train_heads(width, max(teachers))
        for count in teachers:
            for size in queries:
                batch = np.resize(X, (size, width))
                for kind in ("square", "square-mlp"):
                    found.append(measure(kind, heads[:count], batch))
                    if json != "-":
                        typer.echo(found[-1].sentence)
    write_json([asdict(one) for one in found], json)


def train_heads(features: int, teachers: int) -> tuple[NDArray[np.float32], list[EncryptedHead]]:
    """Return projected digits (N, features), and heads of networks trained on them."""
    task = infer_task(digits(), "digits")
    if features < len(task.features):
        task = Task.model_validate(task.model_dump() | {"projection": features})
    ensemble = train(digits(), task, TrainingConfig(teachers=teachers, head="square-mlp"), seed=0)
    assert isinstance(ensemble.models, Networks)
    X = task.prepare(digits().X)
    X = load_encoder(task.encoder).encode(X) if task.encoder else X
    return X, [head_of(net, ensemble.manifest.shape) for net in ensemble.models.nets]


def measure(kind: Head, heads: Sequence[EncryptedHead], X: NDArray[np.float32]) -> Figures:
    """Measure one batch X (queries, features), in processor time of one thread."""
    scheme = scheme_of(kind)
    context = secrets.token_bytes(SEED_BYTES)
    own = [expand(head) for head in heads] if kind == "square" else heads
    keys = scheme.keys()
    public = keys.public(context)
    encrypt_s, message = _time(lambda: keys.encrypt(X))
    evaluator = scheme.evaluator(public, context)
    seed = secrets.token_bytes(SEED_BYTES)
    evaluate_s, masked = _time(lambda: list(evaluator.logits(own, message, seed, len(X))))
    decrypt_s, shares = _time(lambda: [keys.decrypt(one.ciphertexts, len(X)) for one in masked])
    found = [_sign(one + two.shares) for one, two in zip(shares, masked, strict=True)]
    plain = [head.plain(X).T for head in heads]
    errors = [np.abs(one - two).max() for one, two in zip(found, plain, strict=True)]
    changed = [(one.argmax(0) != two.argmax(0)).mean() for one, two in zip(found, plain, strict=True)]
    each = 1e3 / len(X)
    return Figures(
        head=kind,
        features=X.shape[1],
        queries=len(X),
        teachers=len(heads),
        sent=(len(public) + len(message)) / len(X),
        sent_by_a_teacher=sum(len(one.ciphertexts) for one in masked) / len(X) / len(heads),
        encrypt_ms=encrypt_s * each,
        decrypt_ms_a_teacher=decrypt_s * each / len(heads),
        evaluate_ms_a_teacher=evaluate_s * each / len(heads),
        error_bits=float(np.log2(max(errors))),
        votes_changed=float(np.mean(changed)),
    )


def _time(do: Callable[[], T]) -> tuple[float, T]:
    start = time.process_time()
    result = do()
    return time.process_time() - start, result


def _sign(words: NDArray[np.uint64]) -> NDArray[np.float64]:
    """Return the logits that words modulo 2^LOGIT_BITS represent."""
    wrapped = (words & np.uint64(2**LOGIT_BITS - 1)).astype(np.int64)
    return np.where(wrapped < 2 ** (LOGIT_BITS - 1), wrapped, wrapped - 2**LOGIT_BITS) / 2.0**LOGIT_FRACTION


if __name__ == "__main__":
    run(app)
