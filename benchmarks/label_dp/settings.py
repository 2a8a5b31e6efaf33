"""The rows of the tables by name, who learns them, and what their numbers depend on."""

from benchmarks.label_dp.baselines import Alibi, Mixup
from benchmarks.label_dp.data import Size
from benchmarks.label_dp.pate import DELTA, LEARNING, QUERIES
from ostraka.client.students.fixmatch import FixMatch
from ostraka.client.students.label_dp.aug_descent import AugDescent
from ostraka.client.students.label_dp.learners import LdpNormal, LdpSsl
from ostraka.client.students.neural import Neural
from ostraka.client.students.supervised import Supervised
from ostraka.common.learning.learning import Learning

EPSILONS = (0.5, 1.0, 2.0, 4.0)
VERY_SMALL = 0.02
"""Where NoiseCluster alone is of use."""
NON_PRIVATE = "non-private"
NOISE_CLUSTER = "noise-cluster"
PATE_FM = "pate-fm"
DENOISE_SSL = "denoise-ssl"
LDP_SSL = "ldp-ssl"
AUG_DESCENT = "aug-descent"
LDP_NORMAL = "ldp-normal"
METHODS = (DENOISE_SSL, LDP_SSL, PATE_FM, LDP_NORMAL, AUG_DESCENT)
FRAMEWORK = (NOISE_CLUSTER, DENOISE_SSL, LDP_SSL, AUG_DESCENT, PATE_FM)
"""The paper's own: rows of Tables 3 to 5, and what the best of Tables 6 and 9 is chosen from."""
PATE_FM_LEARNERS = tuple(f"{PATE_FM}+{learner}" for learner in (DENOISE_SSL, LDP_SSL, AUG_DESCENT))
"""Learners that doubt what PATE-FM's student says of all training records: rows of Tables 3 to 5."""
ALIBI = "alibi"
LP_1ST = "lp-1st"
LP_2ST = "lp-2st"
BASELINES = (ALIBI, LP_1ST, LP_2ST)
"""What others published: rows of Tables 6 and 9; LP-2ST is none of them."""
STUDENTS: dict[str, type[Neural]] = {
    NON_PRIVATE: Supervised,
    DENOISE_SSL: FixMatch,
    LDP_SSL: LdpSsl,
    PATE_FM: FixMatch,
    LDP_NORMAL: LdpNormal,
    AUG_DESCENT: AugDescent,
    ALIBI: Alibi,
    LP_1ST: Mixup,
    LP_2ST: Mixup,
}
"""What learns from a method's labels; NoiseCluster has no student."""


def settings(method: str, size: Size) -> tuple[object, ...]:
    """Return what a cell's number depends on besides its dataset, epsilon and seed."""
    student = STUDENTS.get(method.removeprefix(f"{PATE_FM}+"))
    learning = None if student is None else learning_of(student, size.steps)
    return *votes_key(size), size.clusters, size.network, DELTA, learning


def records(size: Size) -> tuple[object, ...]:
    """Return what private labels depend on."""
    return size.train, size.test


def embedding_key(size: Size) -> tuple[object, ...]:
    """Return what an embedding depends on."""
    return *records(size), size.embedding


def votes_key(size: Size) -> tuple[object, ...]:
    """Return what teachers' votes depend on."""
    return *embedding_key(size), size.teachers, QUERIES, LEARNING


def learning_of(kind: type[Neural], steps: int) -> Learning:
    """Batches by how much an algorithm does with a record, so that all take about as long."""
    match kind.__name__:
        case "LdpNormal" | "Supervised" | "Alibi" | "Mixup":
            return Learning(steps=2 * steps, batch_size=128, unlabeled_ratio=1, evaluations=1)
        case "AugDescent":
            return Learning(steps=2 * steps, batch_size=64, unlabeled_ratio=1, evaluations=1)
        case "LdpSsl":
            return Learning(steps=steps, batch_size=64, unlabeled_ratio=2, evaluations=1)
    return Learning(steps=steps, batch_size=32, unlabeled_ratio=4, evaluations=1)
