"""What a budget buys: the mechanism, noise and order that give the most correct labels for it.

The votes for a search are public, simulated or assumed, because its result depends on them.
"""
