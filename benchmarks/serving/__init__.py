"""Speed of a party: whole votes compared with the bare forward pass, and ensembles by layout."""
