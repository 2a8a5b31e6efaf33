"""`ostraka guardian plan`: what labelling would cost, before anything is spent."""
