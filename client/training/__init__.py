"""A party that leads a training: teachers of several parties learn together (004, Algorithm 1)."""
