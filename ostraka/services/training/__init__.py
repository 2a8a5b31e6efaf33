"""A party whose teachers learn jointly with other parties' teachers.

Dodwadmath and Stich 2022, Algorithm 1.
"""
