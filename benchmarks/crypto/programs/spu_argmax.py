"""SPU: argmax of shared logits, both parties as threads of this process, linked in memory."""

import re
import sys
import tempfile
import threading
import time
from importlib.metadata import version
from pathlib import Path

import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray
from spu import api, libspu
from spu.utils import frontend

from benchmarks.crypto.measured import Measured, median_of
from benchmarks.crypto.tasks import CLASSES

FRACTION_BITS = 13  # Ostraka's shares of logits have as many
SPENT = re.compile(r"total send bytes (\d+), recv bytes (\d+), send actions (\d+), recv actions (\d+)")
"""The first party's log line on its link."""


def main() -> None:
    """Run a protocol on random logits: `spu_argmax CHEETAH 1000 3`."""
    protocol = sys.argv[1]
    queries, repeats = map(int, sys.argv[2:])
    logits = np.random.default_rng(0).uniform(-1, 1, (queries, CLASSES)).astype(np.float32)
    settings = libspu.RuntimeConfig(
        protocol=getattr(libspu.ProtocolKind, protocol),
        field=libspu.FieldType.FM32,
        fxp_fraction_bits=FRACTION_BITS,
    )
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder, "spu.log")
        options = libspu.logging.LogOptions()
        options.enable_console_logger = False
        options.system_log_path = str(log)
        libspu.logging.setup_logging(options)
        runs = [{"both parties": _run(settings, logits)} for _ in range(repeats)]
        told = SPENT.findall(log.read_text())
    sent, received, sends, receptions = map(int, told[0])
    Measured(version("spu"), queries, median_of(runs), sent + received, sends + receptions).tell()


def _run(settings: libspu.RuntimeConfig, logits: NDArray[np.float32]) -> float:
    """Return processor seconds of both parties, from the set-up of transfers to shares of classes."""
    io = api.Io(2, settings)
    shares = io.make_shares(logits, libspu.Visibility.VIS_SECRET)
    executable, _ = frontend.compile(
        frontend.Kind.JAX,
        lambda values: jnp.argmax(values, axis=1),
        (logits,),
        {},
        ["logits"],
        [libspu.Visibility.VIS_SECRET],
        lambda _: ["classes"],
        copts=libspu.CompilerOptions(),
    )
    link = libspu.link.Desc()
    for rank in range(2):
        link.add_party(f"party {rank}", f"thread {rank}")
    classes: list[libspu.Share] = [None, None]

    def compute(rank: int) -> None:
        own = libspu.RuntimeConfig(settings)
        own.enable_pphlo_profile = rank == 0
        runtime = api.Runtime(libspu.link.create_mem(link, rank), own)
        runtime.set_var("logits", shares[rank])
        runtime.run(executable)
        classes[rank] = runtime.get_var("classes")

    began = time.process_time()
    threads = [threading.Thread(target=compute, args=(rank,)) for rank in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    spent = time.process_time() - began
    assert np.array_equal(io.reconstruct(classes), logits.argmax(axis=1)), "SPU found other classes"
    return spent


if __name__ == "__main__":
    main()
