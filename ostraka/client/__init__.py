"""The querying party: labelling, retraining, reports."""
