"""Blind tallies: guardian and querying party compute the answers on halves of a histogram nobody sees."""
