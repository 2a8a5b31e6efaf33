"""Teachers that learn together with those of other parties (Dodwadmath and Stich 2022, Algorithm 1)."""
