"""Sends invalid data to all real servers and clients: `python -m tests.fuzz`, docs/robustness.md.

Where to start reading: `__main__` starts a federation of processes (`federation`, with the honest sessions,
and an honest administrator's actions in `administration`), finds every call of every server (`methods`) and
runs a `campaign`. Each of its inputs follows from the seed and its number: a single call, or a whole honest
session that is tampered with (`meddling`). The data are made in `altering`: from real calls of honest
members, with fields changed and signed again (`forging`), or from values that nobody sends (`nonsense`).
`calling` sends them and knows which endings are wrong; `watching` checks processes, logs and the ledger. To
try a new alteration, add it to `altering`; `test_fuzz` shows that planted faults are found.

In the other direction, `deceived` connects every client to servers that lie: `recording` keeps the replies of
honest servers in those sessions; `clients`, `party_clients` and `administrator_clients` make the same calls
again, as real clients do; each lie of a `client_campaign` is made in `lying` and told by a `liar`. To try a
new lie, add it to `lying`; to lie to a new client, add it to one of the three.
"""

# Before any module imports gRPC, which reads its environment once: Ostraka sets that environment.
import ostraka  # noqa: F401
