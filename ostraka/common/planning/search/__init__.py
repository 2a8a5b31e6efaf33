"""What a budget buys: the mechanism, noise and order that give the most right labels for it.

Votes that are searched on are public, simulated or assumed: what a search finds tells of them.
"""
