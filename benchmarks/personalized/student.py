"""The student of Mühl and Boenisch 2022 on Adult: a forest trained only on produced labels."""

import numpy as np

from benchmarks.personalized.data import Split
from benchmarks.personalized.forest import forest
from benchmarks.personalized.variants import Produced


def accuracy(produced: Produced, split: Split, random: np.random.Generator) -> float:
    """Return the student's accuracy on the test records; 0 if there is no label to train on."""
    if len(produced.rows) == 0:
        return 0.0
    student = forest(split.public.X.shape[1:], 2)
    student.set_params(random_state=int(random.integers(2**31)))
    student.fit(split.public.X[produced.rows], produced.labels)
    return float((student.predict(split.test.X) == split.test.y).mean())
