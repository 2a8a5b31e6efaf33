"""Sends what nobody should to all real servers and clients: `python -m tests.fuzz`, docs/robustness.md.

To read it: `__main__` starts a federation of processes (`federation`, with the honest sessions, and what an
honest administrator does in `administration`), finds every call of every server (`methods`) and runs a
`campaign`. Each of its inputs follows from the seed and its number: a single call, or a whole honest session
that is meddled with (`meddling`). What is sent is made in `altering`: from calls that honest members really
made, with fields changed and signed again (`forging`), or of values that nobody sends (`nonsense`). `calling`
sends it and knows which endings are wrong; `watching` looks at processes, logs and the ledger. To try a new
alteration, add it to `altering`; `test_fuzz` shows that planted faults are found.

The other way round, `deceived` puts every client before servers that lie: `recording` keeps what honest
servers answered in those sessions; `clients`, `party_clients` and `administrator_clients` make the same
calls again, as real clients do; each lie of a `client_campaign` is made in `lying` and told by a `liar`.
To try a new lie, add it to `lying`; to lie to a new client, add it to one of the three.
"""

# Before any module imports gRPC, which reads its environment once: Ostraka says what it is to take.
import ostraka  # noqa: F401
