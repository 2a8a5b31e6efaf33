"""Personalised PATE: labels until budgets run out, as 003 counted them and as Ostraka charges them."""
