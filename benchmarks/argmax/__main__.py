"""What is charged for an argmax beside what it costs at worst where no count wraps around the ring."""

import time

from rich.console import Console
from rich.table import Table

from benchmarks.argmax.worst_case import argmax_worst_case_rdp

ORDERS = (2.0, 8.0, 32.0, 128.0)
SHIFTS = (0.01, 0.025, 0.1, 0.5)
"""Of a count by one vote, in deviations of its noise."""


def main() -> None:
    """Print the certified bound over order x shift^2, which is charged, and the time that a bound takes."""
    table = Table("order", *(f"shift {shift:g}" for shift in SHIFTS))
    began = time.process_time()
    for order in ORDERS:
        ratios = (argmax_worst_case_rdp(order, shift) / (order * shift**2) for shift in SHIFTS)
        table.add_row(f"{order:g}", *(f"{ratio:.3f}" for ratio in ratios))
    each = (time.process_time() - began) / (len(ORDERS) * len(SHIFTS))
    Console().print(table)
    print(f"{1000 * each:.0f} ms of processor time a bound")


if __name__ == "__main__":
    main()
