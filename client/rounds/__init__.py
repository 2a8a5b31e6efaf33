"""Learning in rounds: label, train, ask about what the student does not know, repeat (002, section 4.3)."""
