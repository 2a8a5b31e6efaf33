"""`ostraka task`: make, check and explain the task that all sites agree on."""
