"""What labelling would cost at worst, before anything is spent; nothing here depends on a vote."""
