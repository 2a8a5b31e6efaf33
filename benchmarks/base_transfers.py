"""Cost of a batch's base oblivious transfers for garbled circuits, by elliptic curve and by ML-KEM."""

import secrets
import time
from functools import partial

import numpy as np

from benchmarks.timing import best
from ostraka.common.crypto.base_ot import SCHEMES
from ostraka.common.crypto.ot_extension import TRANSFERS

BINDING = bytes(32)


def main() -> None:
    """Print processor milliseconds of each side and all bytes, for each scheme."""
    choices = np.random.default_rng(0).integers(0, 2, TRANSFERS, dtype=np.uint8)
    for name, scheme in SCHEMES.items():
        sender = scheme.sender(BINDING, secrets.token_bytes)
        create = partial(scheme.receiver, sender.opening, choices, BINDING, secrets.token_bytes)
        receiver = create()
        _, answer = sender.answer(receiver.offer)
        offering = best(create, time.process_time)
        answering = best(partial(sender.answer, receiver.offer), time.process_time)
        taking = best(partial(receiver.keys, answer), time.process_time)
        size = scheme.opening_bytes + scheme.offer_bytes + scheme.answer_bytes
        print(
            f"{name}: garbler {(offering + taking) * 1e3:.1f} ms, evaluator {answering * 1e3:.1f} ms,"
            f" {size:,} bytes a batch"
        )


if __name__ == "__main__":
    main()
