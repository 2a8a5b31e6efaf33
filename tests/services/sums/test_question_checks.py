"""Questions about a network are of what models take: behind an encoder, of what it makes of records."""

import numpy as np
import pytest

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.mechanism import Gradients
from ostraka.common.sums.questions import NetworkQuestion, Target
from ostraka.services.hosting.records import Records
from ostraka.services.sums.question_checks import check_question


@pytest.mark.parametrize(("features", "taken"), [(3, True), (5, False)])
def test_a_network_takes_what_an_encoder_makes_of_records(features: int, *, taken: bool) -> None:
    X, encoded = np.zeros((4, 5), np.float32), np.zeros((4, 3), np.float32)
    nobody = np.zeros(4, np.int64)
    records = Records(X, nobody, nobody, 2, nobody, codes=X, features=encoded)
    parameters = np.zeros(2 * (features + 1), np.float32)
    question = NetworkQuestion("linear", (features,), Target("softmax", 2), parameters, 1.0)
    mechanism = Gradients(parameters=len(parameters), sigma=2.0)
    if taken:
        check_question(question, mechanism, records)
        return
    with pytest.raises(OstrakaError) as refused:
        check_question(question, mechanism, records)
    assert refused.value.code is ErrorCode.TASK_MISMATCH
