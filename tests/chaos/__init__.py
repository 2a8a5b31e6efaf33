"""Tests that try to break the ledger and the sessions: `make chaos`, docs/robustness.md.

Where to start reading: `schedules` (the command) runs simulations in processes, and `simulate` runs them one
after the other. A simulation is a `world`: simulated `guardians` around the real coordinator and ledger,
`parties` and `queriers` (their certificates and plans are in `members`), over a `network` that loses,
duplicates and delays messages. All of them are threads that take `turns` by a simulated clock, so a seed
decides everything. `faults` draws how often each fault occurs, `troubles` plans crashes, losses and actions
of administrators, and `dying` stops a transaction halfway. `records` keeps what queriers saw, and from it the
`oracle` computes what the ledger must say. `mutants` plants faults that the schedules must find. Separately,
`kill` ends a real guardian (`siege`) over real sockets, `year` goes through the days of a year, one call
after the other, and `histories` check one ledger against what every record has spent.
"""

# Before any module imports gRPC, which reads its environment once: Ostraka sets that environment.
import ostraka  # noqa: F401
