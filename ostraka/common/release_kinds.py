"""The words by which a policy allows several mechanisms at once; an administrator drafts it without NumPy."""

VOTES = "votes"
SUMS = "sums"
RELEASE_KINDS = (VOTES, SUMS)
"""What stands for several mechanisms: those that label queries, and those that release sums over records."""
MODEL_OF_EVERYBODY = (
    "of which whoever asks makes a model of everybody: it answers any question, for ever, to whoever has it"
)
"""What sums over records come to."""
