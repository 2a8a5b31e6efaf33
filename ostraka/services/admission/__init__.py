"""Which requests a party answers: its policy, grants and limits."""
