"""Active learning in rounds: label, train, ask about what the student is unsure of, repeat.

Papernot et al. 2018, section 4.3.
"""
