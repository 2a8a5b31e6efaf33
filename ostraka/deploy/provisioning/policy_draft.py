"""The initial table [policy] of sites of a new federation: the kinds of release that it allows."""

import json

from ostraka.common.release_kinds import SUMS, VOTES

MECHANISMS = (VOTES, SUMS, "dp_ttac")
"""Every release with a formal guarantee: labels by vote, models by sum, and teachers that learn together."""
DRAFT = f"""
[policy]
# "{VOTES}" label single records. "{SUMS}" are noisy sums over all records, of which whoever asks makes a
# model of everybody: it answers any question, for ever, to whoever holds it, and nothing is charged any more.
# Leave out what this site does not agree to; without the line it answers votes and joint training alone.
mechanisms = {json.dumps(MECHANISMS)}
"""


KEPT = """
# How long answers are kept for a run that asks for them again; then their digests are.
keep_answers_days = 90
"""


def policy_draft(role: str) -> str:
    """Return the table for a site of this role, as TOML; empty for roles without a policy."""
    return {"guardian": DRAFT + KEPT, "party": DRAFT}.get(role, "")
