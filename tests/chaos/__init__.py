"""Tests that try to break the ledger and the sessions: `make chaos`, docs/robustness.md.

To read it: `schedules` (the command) runs simulations in processes, `simulate` one after the other. A
simulation is a `world`: simulated `guardians` around the real coordinator and ledger, `parties` and
`queriers` (their certificates and plans are in `members`), over a `network` that loses, doubles and delays.
All of them are threads that take `turns` by a simulated clock, so that a seed decides everything. `faults`
draws how often what goes wrong, `troubles` plans crashes, losses and administrators, `dying` stops a
transaction half way. `records` keeps what queriers saw, from which the `oracle` computes what the ledger
must say. `mutants` plants faults that the schedules must find. Apart from that, `kill` ends a real guardian
(`siege`) over real sockets, `year` goes through the days of a year, one call after the other, and `histories`
hold one ledger to what every record has spent.
"""

# Before any module imports gRPC, which reads its environment once: Ostraka says what it is to take.
import ostraka  # noqa: F401
