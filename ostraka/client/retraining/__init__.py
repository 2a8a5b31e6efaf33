"""Students that are trained again on labels that were released."""
