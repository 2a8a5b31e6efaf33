"""Random histories of one ledger, whose every record must have paid for what it took part in.

`python -m tests.chaos.histories` is the command (`__main__`). A `history` is a list of steps. Each does to
the ledger of a `federation` what a guardian's services do: `asking` for batches and releases, `administering`
for parties, budgets, publications and losses. `halting` leaves time between what a service reads and what it
writes. The `truth` knows every record of the parties (`sites`) by itself: where it belongs, what it took part
in, and what that costs; it asks nothing of the ledger. `promises` holds the ledger against it. `faults` are
planted in the code under test, and must be found.
"""
