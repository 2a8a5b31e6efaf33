"""Words that allow several mechanisms at once in a policy; usable without NumPy, to draft a policy."""

VOTES = "votes"
SUMS = "sums"
RELEASE_KINDS = (VOTES, SUMS)
"""Names of groups of mechanisms: those that label queries, and those that release sums over records."""
MODEL_OF_EVERYBODY = (
    "of which whoever asks makes a model of everybody: it answers any question, for ever, to whoever has it"
)
"""Consequence of releasing sums over records."""
