"""Random histories of one ledger; every record in them must have paid for everything it took part in.

`python -m tests.chaos.histories` is the command (`__main__`). A `history` is a list of steps. Each step does
what a guardian's services do to the ledger of a `federation`: `asking` for batches and releases,
`administering` of parties, budgets, publications and losses. `halting` leaves time between the reads and the
writes of a service. The `truth` knows every record of the parties (`sites`) on its own: which group it
belongs to, what it took part in, and what that costs; it takes nothing from the ledger. `promises` compares
the ledger with it. `faults` are planted in the code under test and must be found.
"""
