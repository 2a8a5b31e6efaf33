"""The cost of each mechanism under each bound."""
