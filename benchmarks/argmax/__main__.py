"""What an argmax is charged over the Gaussian mechanism; with --prove, the proof of its constant."""

import argparse
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor

from rich.console import Console
from rich.table import Table

from benchmarks.argmax.proof import check_nodes
from ostraka.common.privacy import ORDERS
from ostraka.common.privacy.argmax import argmax_bound
from ostraka.common.telemetry import progress

SHOWN = (2.0, 8.0, 32.0, 128.0)
SHIFTS = (0.01, 0.025, 0.1, 0.5)
"""Change of a count by one vote, in standard deviations of its noise."""


def main() -> None:
    """Print the bound over order x shift^2, or prove it at every order."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--prove", action="store_true", help="Prove the bound at every order; takes minutes.")
    parser.add_argument("--every", type=int, default=1, help="Prove every so many orders only.")
    given = parser.parse_args()
    if given.prove:
        sys.exit(_prove(ORDERS[:: given.every]))
    table = Table("order", *(f"shift {shift:g}" for shift in SHIFTS))
    began = time.process_time()
    for order in SHOWN:
        ratios = (argmax_bound(order, shift) / (order * shift**2) for shift in SHIFTS)
        table.add_row(f"{order:g}", *(f"{ratio:.3f}" for ratio in ratios))
    each = (time.process_time() - began) / (len(SHOWN) * len(SHIFTS))
    Console().print(table)
    print(f"{1000 * each:.1f} ms of processor time a bound")


def _prove(orders: Sequence[float]) -> int:
    """Prove orders in parallel; return 1, and print where, if one is not proved."""
    nodes = 0
    missing = []
    with ProcessPoolExecutor() as pool, progress() as display:
        step = display.add_task("orders proved", total=len(orders))
        for order, (count, failed) in zip(orders, pool.map(_order, orders), strict=True):
            nodes += count
            missing += [(order, shift) for shift in failed]
            display.advance(step)
    print(f"{nodes - len(missing)} of {nodes} nodes proved, at {len(orders)} orders.")
    for order, shift in missing:
        print(f"not proved: order {order:g}, shift {shift:g}")
    return 1 if missing else 0


def _order(order: float) -> tuple[int, list[float]]:
    """Return the number of nodes of an order, and the nodes that are not proved."""
    found = list(check_nodes(order))
    return len(found), [shift for shift, holds in found if not holds]


if __name__ == "__main__":
    main()
