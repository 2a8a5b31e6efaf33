"""Personalised PATE: labels until budgets run out, by the paper's costs and by Ostraka's."""
