"""The rows of the tables by name, their learners, and the settings that determine their numbers."""

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
"""An epsilon at which only NoiseCluster is useful."""
NON_PRIVATE = "non-private"
NOISE_CLUSTER = "noise-cluster"
PATE_FM = "pate-fm"
DENOISE_SSL = "denoise-ssl"
LDP_SSL = "ldp-ssl"
AUG_DESCENT = "aug-descent"
LDP_NORMAL = "ldp-normal"
METHODS = (DENOISE_SSL, LDP_SSL, PATE_FM, LDP_NORMAL, AUG_DESCENT)
FRAMEWORK = (NOISE_CLUSTER, DENOISE_SSL, LDP_SSL, AUG_DESCENT, PATE_FM)
"""The paper's own methods: rows of Tables 3 to 5, and the candidates for the best of Tables 6 and 9."""
PATE_FM_LEARNERS = tuple(f"{PATE_FM}+{learner}" for learner in (DENOISE_SSL, LDP_SSL, AUG_DESCENT))
"""Learners that doubt the predictions of PATE-FM's student for all training records: rows of Tables 3 to
5."""
ALIBI = "alibi"
LP_1ST = "lp-1st"
LP_2ST = "lp-2st"
BASELINES = (ALIBI, LP_1ST, LP_2ST)
"""Published baselines: rows of Tables 6 and 9, except LP-2ST."""
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
"""The student of a method's labels; NoiseCluster has none."""


def settings(method: str, size: Size) -> tuple[object, ...]:
    """Return the settings that determine a cell's number besides its dataset, epsilon and seed."""
    student = STUDENTS.get(method.removeprefix(f"{PATE_FM}+"))
    learning = None if student is None else learning_of(student, size.steps)
    return *votes_key(size), size.clusters, size.network, DELTA, learning


def records(size: Size) -> tuple[object, ...]:
    """Return the settings that determine private labels."""
    return size.train, size.test


def embedding_key(size: Size) -> tuple[object, ...]:
    """Return the settings that determine an embedding."""
    return *records(size), size.embedding


def votes_key(size: Size) -> tuple[object, ...]:
    """Return the settings that determine teachers' votes."""
    return *embedding_key(size), size.teachers, QUERIES, LEARNING


def learning_of(kind: type[Neural], steps: int) -> Learning:
    """Return settings that make all algorithms take about equally long, by their work per record."""
    match kind.__name__:
        case "LdpNormal" | "Supervised" | "Alibi" | "Mixup":
            return Learning(steps=2 * steps, batch_size=128, unlabeled_ratio=1, evaluations=1)
        case "AugDescent":
            return Learning(steps=2 * steps, batch_size=64, unlabeled_ratio=1, evaluations=1)
        case "LdpSsl":
            return Learning(steps=steps, batch_size=64, unlabeled_ratio=2, evaluations=1)
    return Learning(steps=steps, batch_size=32, unlabeled_ratio=4, evaluations=1)
