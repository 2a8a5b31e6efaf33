"""Learning in rounds: label, train, ask about what the student does not know, repeat.

Papernot et al. 2018, section 4.3.
"""
