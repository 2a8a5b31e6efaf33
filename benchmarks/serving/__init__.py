"""How fast a party answers: whole votes beside the bare forward pass, and ensembles by layout."""
