"""A party whose teachers learn together with those of other parties (004, Algorithm 1)."""
