"""Students: models that the querying party trains on its own and on released labels."""
