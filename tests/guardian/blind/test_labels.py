"""Labels of a blind tally are those of the votes and the noise that was drawn, for every mechanism."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ostraka.common.mechanism import L1, Binary, Check, Confident, GnMax, LnMax, Tau
from ostraka.common.sharing.fixed_point import encode
from ostraka.guardian.mechanisms import release
from tests.guardian.blind.querying import RING, Recorded, asked, blind_plan
from tests.guardian.federation import PARTIES, TEACHERS, Federation

QUERIES = 20
SINGLE = [
    GnMax(sigma=2.0),
    LnMax(gamma=0.5),
    Confident(sigma1=3.0, sigma2=2.0, threshold=14.0),
]
CHECK = Check(sigma=2.0, threshold=17.0)
LABELS = [
    Binary(sigma=3.0),
    Binary(sigma=3.0, check=CHECK),
    Tau(sigma=3.0, tau=1.5, check=CHECK),
    L1(sigma=3.0, tau1=2.0),
]


@pytest.mark.heavy
@pytest.mark.parametrize("mechanism", [*SINGLE, *LABELS], ids=lambda m: f"{m.kind}-{len(m.sigmas)}")
def test_labels_are_those_of_votes_and_noise(tmp_path: Path, mechanism: Any) -> None:
    random = np.random.default_rng(5)
    votes = random.integers(0, TEACHERS + 1, (len(PARTIES), QUERIES, 4))
    votes[:, ::2] //= 4
    votes[:, 1:4:2] = TEACHERS // 2
    noise = Recorded()
    plan = blind_plan(mechanism=mechanism, multi_label=mechanism in LABELS)
    with Federation(tmp_path).guardian(noise) as guardian:
        guardian.prepare_all(1e6)
        querying = asked(guardian, plan, votes)
        checked = len(mechanism.sigmas) > 1
        passed = querying.check() if checked else np.ones((QUERIES, mechanism.answers(4)), dtype=np.bool_)
        labels = querying.answers(passed)
        settled = guardian.settle(querying.session, 1)
    voters = len(PARTIES) * TEACHERS
    expected = release(
        encode(votes.sum(axis=0), RING),
        mechanism,
        noise.again(),
        RING,
        classes=4,
        totals=np.full(QUERIES, voters << 16),
    )
    assert (passed == expected.answered).all()
    assert not checked or 0 < passed.sum() < passed.size
    assert labels.tolist() == expected.labels[expected.answered].tolist()
    assert settled.released
    assert [answer.answered for answer in settled.answers] == expected.answered.any(axis=1).tolist()
    assert not any(answer.label or any(answer.positive_labels) for answer in settled.answers)
