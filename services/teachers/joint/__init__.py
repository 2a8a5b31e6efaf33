"""Teachers that learn together with those of other parties (004, Algorithm 1), and what they tell of it."""
