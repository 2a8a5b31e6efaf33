"""A year of a federation, day by day: `python -m tests.chaos.year`, docs/robustness.md.

Where to start reading: `simulation` is the calendar, which a seed decides. Each day, `events` draws what
administrators, parties and the machine do, `sessions` are the requests of querying parties, and `books`
checks what must hold. Everything goes to one `guardian`, the real coordinator over the real ledger, which is
killed, replaced and restored. `sites` are the parties, with their certificates, manifests and receipts.
`mutants` plants faults.
"""
