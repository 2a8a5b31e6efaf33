"""Votes by which a search judges mechanisms: assumed, simulated, public, or from a file."""

from dataclasses import dataclass, field, replace
from pathlib import Path
from zipfile import BadZipFile, is_zipfile

import numpy as np
from numpy.typing import NDArray

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.files.archives import check_zip_file

RARE_REST = 0.2
"""Share of all classes but the most frequent one, below which accuracy says little."""
CONCENTRATION = 4.0
"""How alike assumed queries are. Votes of 250 MNIST teachers are best fitted by 6, votes on SVHN by 2."""
_MAX_BALLOTS = 4_000_000
"""Maximum number of votes of all teachers on all labels, a byte each; a forecast's cost grows with it."""
_MIN_QUERIES = 100
"""With fewer, the share of right labels has a standard deviation of 5 in 100 and more."""
_MAX_QUERIES = 1000
"""With this many, the standard deviation is 1.6 in 100; more take longer and change few choices."""
_SEED = 0
"""An arbitrary constant seed, so that a search always finds the same."""


@dataclass(frozen=True)
class VoteSample:
    """Queries that resemble those to be asked.

    Attributes:
        counts: votes for each class, or yeses for each label, float64 (Q, k).
        teachers: number of voters.
        truth: the right class, int64 (Q,), or which labels are right, bool (Q, k).
        ballots: for several labels each teacher's own, bool (teachers, Q, k); None if they are not known.
    """

    counts: NDArray[np.float64] = field(repr=False)
    teachers: int
    truth: NDArray[np.int64] | NDArray[np.bool_] = field(repr=False)
    ballots: NDArray[np.bool_] | None = field(default=None, repr=False)

    @property
    def classes(self) -> int:
        """Number of classes, or of labels."""
        return int(self.counts.shape[1])

    @property
    def multi_label(self) -> bool:
        """Whether a query has several labels."""
        return self.truth.ndim == 2

    @property
    def has_rare_class(self) -> bool:
        """Whether queries have one of two classes, and one class is rare."""
        return self.classes == 2 and not self.multi_label and 0 < self.rarer_share < RARE_REST

    @property
    def rarer_share(self) -> float:
        """The share of the rarer of two classes."""
        second = float(self.truth.mean())
        return min(second, 1 - second)

    def thin(self, most: int) -> "VoteSample":
        """Return at most `most` of the queries, evenly spread."""
        rows = np.unique(np.linspace(0, len(self.counts) - 1, min(most, len(self.counts))).astype(np.int64))
        ballots = None if self.ballots is None else self.ballots[:, rows]
        return replace(self, counts=self.counts[rows], truth=self.truth[rows], ballots=ballots)


def most_queries(teachers: int, classes: int) -> int:
    """Return a number of queries that is enough for a search, and quick."""
    return int(np.clip(_MAX_BALLOTS // (teachers * classes), _MIN_QUERIES, _MAX_QUERIES))


def assume_classes(classes: int, teachers: int, accuracy: float) -> VoteSample:
    """Return votes on classes by teachers of this mean accuracy.

    Each query has its own probabilities of the classes, Dirichlet with mean `accuracy` for the right one and
    the rest shared evenly, and concentration CONCENTRATION. So teachers err together, on some queries more
    than on others. Given these, teachers vote independently. This is an assumption, fitted to two published
    sets of votes.
    """
    rng = np.random.default_rng(_SEED)
    queries = most_queries(teachers, classes)
    truth = rng.integers(classes, size=queries)
    mean = np.full((queries, classes), (1 - accuracy) / (classes - 1))
    mean[np.arange(queries), truth] = accuracy
    counts = rng.multinomial(teachers, _chances(rng, mean)).astype(np.float64)
    return VoteSample(counts, teachers, truth)


def assume_labels(labels: int, teachers: int, accuracy: float, positives: float) -> VoteSample:
    """Return ballots on labels by teachers of this mean accuracy, for records with `positives` on average.

    Labels are independent. Teachers are independent given each label's own probability of a right vote, which
    is Beta with mean `accuracy` and concentration CONCENTRATION. Real teachers agree more on whole sets.
    """
    rng = np.random.default_rng(_SEED)
    queries = most_queries(teachers, labels)
    truth = rng.random((queries, labels)) < positives / labels
    mean = np.stack([np.full(truth.shape, accuracy), np.full(truth.shape, 1 - accuracy)], axis=-1)
    right = rng.random((teachers, queries, labels)) < _chances(rng, mean)[..., 0]
    ballots = right == truth
    return VoteSample(ballots.sum(axis=0).astype(np.float64), teachers, truth, ballots)


def _chances(rng: np.random.Generator, mean: NDArray[np.float64]) -> NDArray[np.float64]:
    """Draw from a Dirichlet distribution for each row of means."""
    drawn = rng.gamma(np.maximum(CONCENTRATION * mean, 1e-3)) + 1e-12
    shares: NDArray[np.float64] = drawn / drawn.sum(axis=-1, keepdims=True)
    return shares


VOTES = "votes"
"""The name given to the array of an .npy file, which has no names."""


def read_arrays(path: Path) -> dict[str, NDArray[np.generic]]:
    """Return the arrays of a file by name; raise `data.missing` or `data.unreadable` if it has none."""
    try:
        if is_zipfile(path):
            check_zip_file(path)
        loaded = np.load(path, allow_pickle=False)
        return {VOTES: loaded} if isinstance(loaded, np.ndarray) else dict(loaded)
    except FileNotFoundError as exc:
        raise OstrakaError(ErrorCode.DATA_MISSING, f"There is no file {path}; name one with votes.") from exc
    except (OSError, ValueError, EOFError, BadZipFile, MemoryError) as exc:
        raise OstrakaError(
            ErrorCode.DATA_UNREADABLE, f"{path} is no .npy or .npz file of numbers; save votes with NumPy."
        ) from exc


def finite(array: NDArray[np.generic] | None, path: Path, name: str) -> NDArray[np.float64]:
    """Return an array of a file as numbers.

    Raises `data.missing` if there is none, `data.not_numeric` or `data.nan` for values that are not numbers.
    """
    if array is None:
        raise OstrakaError(ErrorCode.DATA_MISSING, f"{path} holds no array {name}; add it.")
    if array.dtype.kind not in "biuf":
        raise OstrakaError(ErrorCode.DATA_NOT_NUMERIC, f"{path}: {name} is not made of numbers.")
    numbers = array.astype(np.float64)
    if not np.isfinite(numbers).all():
        raise OstrakaError(ErrorCode.DATA_NAN, f"{path}: {name} holds a number that is not finite.")
    return numbers


def wrong_shape(path: Path, name: str, wanted: str, found: NDArray[np.generic]) -> OstrakaError:
    """Return the error for an array that does not have the `wanted` shape."""
    shape = " x ".join(map(str, found.shape))
    return OstrakaError(ErrorCode.DATA_SHAPE, f"{path}: {name} must be {wanted} numbers, is {shape}.")


BALLOTS = "ballots"
LABELS = "labels"


def read_sample(
    path: Path, classes: int, teachers: int | None, *, several: bool | None = None
) -> tuple[VoteSample, int]:
    """Return public or simulated votes, thinned for a quick search, and how many queries there were.

    The file is an .npy of counts (queries, classes), or an .npz with these as `votes`, or with each teacher's
    `ballots` (teachers, queries, labels), 0 or 1. `labels` in an .npz gives the truth: a class (queries,), or
    0 or 1 for each label (queries, labels). Without it, the majority of teachers counts as the truth.

    Args:
        path: the file.
        classes: number of classes, or of labels.
        teachers: number of voters, if it is known; counts of labels do not determine it.
        several: whether a query has several labels; None: it has if the file contains ballots.

    Raises:
        OstrakaError: `data.*` for a file that cannot be read or does not fit.
    """
    arrays = read_arrays(path)
    ballots = None
    if BALLOTS in arrays:
        given = finite(arrays[BALLOTS], path, BALLOTS)
        if given.ndim != 3 or given.shape[2] != classes or 0 in given.shape:
            raise wrong_shape(path, BALLOTS, f"teachers x queries x {classes}", given)
        ballots = _bits(path, BALLOTS, given)
        counts = ballots.sum(axis=0).astype(np.float64)
        voted = len(ballots)
    else:
        counts = read_counts(arrays, path, classes)
        voted = count_voters(path, counts, teachers, several=bool(several))
    multi_label = ballots is not None if several is None else several
    if ballots is not None and not multi_label:
        raise OstrakaError(
            ErrorCode.DATA_SHAPE, f"{path} holds ballots on labels, and a record has one class; give votes."
        )
    _require_told(path, voted, teachers)
    truth = _truth(path, arrays.get(LABELS), counts, voted, multi_label=multi_label)
    sample = VoteSample(counts, voted, truth, ballots)
    return sample.thin(most_queries(voted, classes)), len(counts)


def read_counts(arrays: dict[str, NDArray[np.generic]], path: Path, width: int) -> NDArray[np.float64]:
    """Return the votes of a file, counts (queries, `width`); raise `data.*` if they do not fit."""
    counts = finite(arrays.get(VOTES), path, VOTES)
    if counts.ndim != 2 or counts.shape[1] != width or not len(counts):
        raise wrong_shape(path, VOTES, f"queries x {width}", counts)
    if (counts < 0).any():
        raise OstrakaError(ErrorCode.DATA_SHAPE, f"{path}: {VOTES} holds a negative count; give counts.")
    return counts


def count_voters(path: Path, counts: NDArray[np.float64], told: int | None, *, several: bool) -> int:
    """Return how many teachers made these counts; their queries have one class, or `several` labels.

    Raises:
        OstrakaError: `config.invalid` if the number of voters on labels is unknown; `data.shape` if rows have
            different numbers of votes, or another number than `told`.
    """
    if several:
        if told is None:
            raise OstrakaError(
                ErrorCode.CONFIG_INVALID, "Votes on labels do not say how many voted: give --teachers."
            )
        if counts.max() > told:
            raise OstrakaError(
                ErrorCode.DATA_SHAPE,
                f"{path} has a count of {counts.max():g}, and there are {told} teachers; change --teachers.",
            )
        return told
    sums = np.unique(counts.sum(axis=1))
    if len(sums) > 1 or sums[0] < 1:
        raise OstrakaError(
            ErrorCode.DATA_SHAPE,
            f"{path}: rows sum to {sums[0]:g} up to {sums[-1]:g} votes; give one vote of every teacher.",
        )
    _require_told(path, int(sums[0]), told)
    return int(sums[0])


def _require_told(path: Path, voted: int, told: int | None) -> None:
    if told is not None and voted != told:
        raise OstrakaError(
            ErrorCode.DATA_SHAPE, f"{path} holds votes of {voted} teachers, not of {told}; change --teachers."
        )


def _truth(
    path: Path,
    labels: NDArray[np.generic] | None,
    counts: NDArray[np.float64],
    teachers: int,
    *,
    multi_label: bool,
) -> NDArray[np.int64] | NDArray[np.bool_]:
    """Return the truth; without labels, what the majority of teachers says."""
    if labels is None:
        return 2 * counts > teachers if multi_label else counts.argmax(axis=1)
    given = finite(labels, path, LABELS)
    if multi_label:
        if given.shape != counts.shape:
            raise wrong_shape(path, LABELS, " x ".join(map(str, counts.shape)), given)
        return _bits(path, LABELS, given)
    if given.shape != (len(counts),):
        raise wrong_shape(path, LABELS, f"{len(counts)}", given)
    if not np.isin(given, np.arange(counts.shape[1])).all():
        raise OstrakaError(
            ErrorCode.DATA_SHAPE, f"{path}: {LABELS} must be classes from 0 to {counts.shape[1] - 1}."
        )
    return given.astype(np.int64)


def _bits(path: Path, name: str, given: NDArray[np.float64]) -> NDArray[np.bool_]:
    if not np.isin(given, (0, 1)).all():
        raise OstrakaError(ErrorCode.DATA_SHAPE, f"{path}: {name} must be 0 or 1 for each label.")
    return given.astype(np.bool_)
