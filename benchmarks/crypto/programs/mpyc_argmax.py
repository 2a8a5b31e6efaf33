"""MPyC: argmax of shared logits as unit vectors, with three parties, one process of this machine each."""

import sys
import time
from collections.abc import Callable
from importlib.metadata import version

import numpy as np
from mpyc.asyncoro import MessageExchanger
from mpyc.runtime import mpc

from benchmarks.crypto.measured import Measured, median_of
from benchmarks.crypto.tasks import CLASSES

BITS = 16  # Ostraka's shares of logits have as many


def count_messages() -> Callable[[], int]:
    """Count the messages that this process sends from now on; return a function for their number."""
    send = MessageExchanger.send
    lengths = []

    def count(to: MessageExchanger, counter: int, payload: bytes) -> None:
        lengths.append(len(payload))
        send(to, counter, payload)

    MessageExchanger.send = count
    return lambda: len(lengths)


async def main() -> None:
    """Share random logits, take their argmax, and compare: `mpyc_argmax 1000 3`."""
    queries, repeats = map(int, sys.argv[1:])
    logits = np.random.default_rng(0).integers(-(2 ** (BITS - 2)), 2 ** (BITS - 2), (queries, CLASSES))
    integer = mpc.SecInt(BITS)
    messages = count_messages()
    await mpc.start()
    runs = []
    for _ in range(repeats):
        shared = mpc.input(integer.array(logits), senders=0)
        await mpc.gather(shared)
        await mpc.barrier()
        before = _bytes_so_far(), messages()
        began = time.process_time()
        ballots = mpc.np_argmax(shared, axis=1, arg_unary=True)
        await mpc.gather(ballots)
        spent = time.process_time() - began
        own = spent, _bytes_so_far() - before[0], messages() - before[1]
        found = np.asarray(await mpc.output(ballots)).astype(int)
        assert np.array_equal(found.argmax(axis=1), logits.argmax(axis=1)), "MPyC found other classes"
        runs.append(await mpc.transfer(own))
    await mpc.shutdown()
    if mpc.pid == 0:
        seconds = median_of([{f"party {i}": told[0] for i, told in enumerate(run)} for run in runs])
        sent, count = (sum(told[k] for told in runs[0]) for k in (1, 2))
        Measured(version("mpyc"), queries, seconds, sent, count).tell()


def _bytes_so_far() -> int:
    return sum(peer.protocol.nbytes_sent for peer in mpc.parties if peer.pid != mpc.pid)


if __name__ == "__main__":
    mpc.run(main())
