"""A year of a federation, day by day: `python -m tests.chaos.year`, docs/robustness.md.

To read it: `simulation` is the calendar, which a seed decides. Each day `events` draws what administrators,
parties and the machine do, `sessions` are what querying parties ask, and `books` checks what must hold. All
of it goes to one `guardian`, the real coordinator over the real ledger, that is killed, superseded and
restored. `sites` are the parties, with their certificates, manifests and receipts. `mutants` plants faults.
"""
