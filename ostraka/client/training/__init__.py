"""A party that leads a joint training: teachers of several parties learn together.

Dodwadmath and Stich 2022, Algorithm 1.
"""
